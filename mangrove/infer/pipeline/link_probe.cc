#include "mangrove/infer/pipeline/link_probe.h"

#include <algorithm>

#include "mangrove/base/log.h"
#include "mangrove/infer/tags.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

constexpr std::uint32_t kFirst = 2;         // probes, which may have to connect
constexpr std::uint32_t kSmall = 6;         // probes for the round trip, with those
constexpr std::size_t kSmallest = 1 << 15;  // bytes of the first one for the rate, then four times as many
constexpr std::uint32_t kLarge = 4;         // at most
constexpr Seconds kTooShort = 20e-6;        // to be measured

/// Of the probe's body.
std::size_t bytes_of(std::uint32_t number) {
  return number < kSmall ? 0 : kSmallest << 2 * (number - kSmall);
}

}  // namespace

void LinkProbe::start(std::uint64_t request, net::Rank peer) {
  is_under_way_ = true;
  request_ = request;
  peer_ = peer;
  number_ = 0;
  round_trip_ = Instant::never().seconds;
  send_next();
}

void LinkProbe::send_next() {
  Probe probe;
  probe.set_request(request_);
  probe.set_number(number_);
  if (number_ == kSmall) message_seconds_ = std::max(0.0, device_.computed() - cpu_began_) / messages_;
  if (number_ == kFirst || number_ == kSmall) {
    cpu_began_ = device_.computed();
    messages_ = 0;
    bytes_ = 0;
  }
  std::string payload = net::begin_payload(probe.SerializeAsString(), bytes_of(number_));
  payload.resize(payload.size() + bytes_of(number_), 'p');
  bytes_ += payload.size();
  ++messages_;
  sent_at_ = clock_.now();
  endpoint_.send(peer_, kProbeTag, std::move(payload));
}

std::optional<Link> LinkProbe::take(const net::Message& message) {
  const Result<net::PayloadParts> parts = net::split_payload(message.payload);
  Probe probe;
  if (!parts.ok() || !probe.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) {
    log_warn("probe cannot be read", {{"from", message.from}, {"bytes", message.payload.size()}});
    return {};
  }
  if (!probe.is_answer()) {
    bytes_ += message.payload.size();
    messages_ += 2;  // with the answer
    probe.set_is_answer(true);
    endpoint_.send(message.from, kProbeTag, net::begin_payload(probe.SerializeAsString(), 0));
    return {};
  }
  const bool is_expected =
      is_under_way_ && message.from == peer_ && probe.request() == request_ && probe.number() == number_;
  return is_expected ? take_answer() : std::nullopt;
}

std::optional<Link> LinkProbe::take_answer() {
  const Seconds taken = clock_.now() - sent_at_;
  ++messages_;
  if (number_ < kSmall) round_trip_ = std::min(round_trip_, taken);
  const bool is_last = number_ >= kSmall && (taken >= kLongEnough || number_ + 1 == kSmall + kLarge);
  if (!is_last) {
    ++number_;
    send_next();
    return {};
  }
  is_under_way_ = false;
  Link link;
  link.set_request(request_);
  link.set_round_trip(round_trip_);
  const Seconds sending = taken - round_trip_;
  link.set_rate(sending > kTooShort ? static_cast<double>(bytes_of(number_)) / sending : 0);
  link.set_message_seconds(message_seconds_);
  const Seconds cpu = device_.computed() - cpu_began_ - message_seconds_ * messages_;
  link.set_byte_seconds(std::max(0.0, cpu) / static_cast<double>(bytes_));
  return link;
}

}  // namespace mangrove::infer
