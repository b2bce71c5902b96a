#include "mangrove/train/chunk_channel.h"

#include <algorithm>
#include <limits>

#include "mangrove/base/log.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

constexpr std::size_t kMostEarly = 1024;  // parts of later exchanges from one rank; nobody sends as many in good faith
constexpr std::uint32_t kRefused = std::numeric_limits<std::uint32_t>::max();  // a sequence number that none has

}  // namespace

void ChunkChannel::begin(std::uint64_t id, std::span<const net::Rank> group) {
  id_ = id;
  sent_.clear();
  received_.clear();
  next_sent_.clear();
  next_received_.clear();
  arrived_.clear();
  for (auto& [rank, parts] : std::exchange(early_, {})) {
    if (std::find(group.begin(), group.end(), rank) == group.end()) continue;
    for (net::Message& part : parts) accept(std::move(part));
  }
}

std::string ChunkChannel::begin_part(net::Rank to, std::uint32_t stream, std::size_t bytes,
                                     const Difference* difference) {
  Part header;
  header.set_exchange(id_);
  header.set_stream(stream);
  header.set_sequence(next_sent_[{to, stream}]++);
  if (difference != nullptr) *header.mutable_difference() = *difference;
  ++sent_[to];
  return net::begin_payload(header.SerializeAsString(), bytes);
}

void ChunkChannel::post(net::Rank to, std::string payload, std::size_t float_bytes) {
  transfer_stats_.add(payload.size(), float_bytes);
  context_.endpoint.send(to, tag_, std::move(payload));
}

void ChunkChannel::send(net::Rank to, std::uint32_t stream, std::span<const float> values) {
  std::string payload = begin_part(to, stream, values.size_bytes(), nullptr);
  net::append_floats(payload, values);
  post(to, std::move(payload), values.size_bytes());
}

void ChunkChannel::send(net::Rank to, std::uint32_t stream, std::string_view message, std::size_t float_bytes,
                        const Difference* difference) {
  std::string payload = begin_part(to, stream, message.size(), difference);
  payload += message;
  post(to, std::move(payload), float_bytes);
}

std::optional<ChunkChannel::Arrived> ChunkChannel::take(net::Rank from, std::uint32_t stream) {
  std::deque<Arrived>& parts = arrived_[{from, stream}];
  if (parts.empty()) return {};
  Arrived part = std::move(parts.front());
  parts.pop_front();
  return part;
}

void ChunkChannel::refuse(net::Rank from, std::uint32_t stream) {
  log_warn("part of an exchange has another size", {{"rank", from}, {"exchange", id_}});
  received_[from] -= 1 + static_cast<std::uint32_t>(arrived_[{from, stream}].size());
  arrived_[{from, stream}].clear();
  next_received_[{from, stream}] = kRefused;
}

void ChunkChannel::describe_waiting(net::Rank from, Waiting& waiting) const {
  waiting.set_rank(from);
  const auto received = received_.find(from);
  waiting.set_received(received == received_.end() ? 0 : received->second);
  for (const auto& [rank, parts] : received_) waiting.set_progress(waiting.progress() + parts);
  for (const auto& [rank, parts] : sent_) (*waiting.mutable_sent())[rank] = parts;
}

Result<bool> ChunkChannel::wait(const net::RankSet& from, Deadline deadline) {
  net::RankSet ranks = from;
  ranks.push_back(0);
  for (bool received = false;; deadline = received ? Deadline{} : deadline) {
    Result<net::Message> message = context_.endpoint.recv_any(ranks, {tag_, kWorkTag}, deadline);
    if (!message.ok() && message.code() == Code::deadline_exceeded) return received;
    if (!message.ok() && received && message.code() == Code::unavailable) return true;  // what has come may do
    if (!message.ok()) return message.error();
    if ((message->tag == kWorkTag) != (message->from == 0)) continue;  // of nobody who has a say in it
    if (message->tag == kWorkTag) {
      interruption_ = std::move(*message);
      return make_error(Code::cancelled, "the leader has other work");
    }
    accept(*std::move(message));
    received = true;
  }
}

void ChunkChannel::accept(net::Message message) {
  const net::Rank from = message.from;
  const Result<net::PayloadParts> parts = net::split_payload(message.payload);
  Part header;
  if (!parts.ok() || !header.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) {
    log_warn("part of an exchange cannot be read", {{"rank", from}, {"bytes", message.payload.size()}});
    return;
  }
  if (header.exchange() > id_) {
    if (early_[from].size() < kMostEarly) early_[from].push_back(std::move(message));
    return;
  }
  std::uint32_t& next = next_received_[{from, header.stream()}];
  if (header.exchange() != id_ || header.sequence() != next) return;  // of the past, again, or behind one that is lost
  ++next;
  ++received_[from];
  const std::size_t offset = message.payload.size() - parts->body.size();
  arrived_[{from, header.stream()}].push_back({std::move(message.payload), offset, header.difference()});
}

}  // namespace mangrove::train
