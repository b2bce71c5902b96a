#include "mangrove/train/part_exchange.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

constexpr std::size_t kMostEarly = 64;  // parts of later exchanges from one rank; nobody sends as many in good faith

}  // namespace

void PartExchange::begin(std::uint64_t id, std::span<const net::Rank> group) {
  id_ = id;
  sent_.clear();
  received_.clear();
  std::erase_if(
      early_, [&](const auto& of_rank) { return std::find(group.begin(), group.end(), of_rank.first) == group.end(); });
}

void PartExchange::send(net::Rank to, std::span<const float> values) {
  Part header;
  header.set_exchange(id_);
  header.set_sequence(sent_[to]++);
  std::string payload = net::begin_payload(header.SerializeAsString(), values.size_bytes());
  net::append_floats(payload, values);
  context_.endpoint.send(to, tag_, std::move(payload));
}

Result<bool> PartExchange::receive(net::Rank from, std::span<float> into, Deadline deadline) {
  if (take_early(from, into)) return true;
  while (true) {
    Result<net::Message> message = context_.endpoint.recv_any({from, 0}, {tag_, kWorkTag}, deadline);
    if (!message.ok() && message.code() == Code::deadline_exceeded) return false;
    if (!message.ok()) return message.error();
    if ((message->tag == kWorkTag) != (message->from == 0)) continue;  // of nobody who has a say in it
    if (message->tag == kWorkTag) {
      interruption_ = std::move(*message);
      return make_error(Code::cancelled, "the leader has other work");
    }
    if (take(*message, into)) return true;
  }
}

bool PartExchange::take(const net::Message& message, std::span<float> into) {
  const Result<net::PayloadParts> parts = net::split_payload(message.payload);
  Part header;
  if (!parts.ok() || !header.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) {
    log_warn("part of an exchange cannot be read", {{"rank", message.from}, {"bytes", message.payload.size()}});
    return false;
  }
  if (header.exchange() > id_ && early_[message.from].size() < kMostEarly) early_[message.from].push_back(message);
  if (header.exchange() != id_ || header.sequence() != received_[message.from]) return false;
  if (!net::read_floats(parts->body, into).ok()) return false;
  ++received_[message.from];
  return true;
}

bool PartExchange::take_early(net::Rank from, std::span<float> into) {
  std::deque<net::Message> early = std::exchange(early_[from], {});
  bool taken = false;
  for (net::Message& message : early) {
    if (taken) {
      early_[from].push_back(std::move(message));
    } else {
      taken = take(message, into);
    }
  }
  return taken;
}

}  // namespace mangrove::train
