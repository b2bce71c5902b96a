#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>

#include "mangrove/net/role.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// How a worker passes floats to others. What it passes belongs to an exchange, which the leader has numbered; what a
/// rank sends to another in an exchange arrives in order, or not at all. threads: one at a time.
class PartExchange {
 public:
  /// tag: of the parts. interruption: gets the message from the leader that ends a wait.
  PartExchange(net::RoleContext& context, net::Tag tag, std::optional<net::Message>& interruption)
      : context_(context), tag_(tag), interruption_(interruption) {}

  /// From now on: the exchange of this number, between these ranks. Parts of those before are dropped. Those of later
  /// ones are kept: their sender has been told of it, and this rank will be.
  void begin(std::uint64_t id, std::span<const net::Rank> group);
  void send(net::Rank to, std::span<const float> values);
  /// The next floats from a rank. False: they have not come. errors: cancelled (the leader has other work, or the job
  /// ends), unavailable (the rank, or the leader, is gone).
  Result<bool> receive(net::Rank from, std::span<float> into, Deadline deadline);

  /// Parts of this exchange so far, by rank.
  const std::map<net::Rank, std::uint32_t>& sent() const { return sent_; }
  const std::map<net::Rank, std::uint32_t>& received() const { return received_; }

 private:
  bool take(const net::Message& message, std::span<float> into);
  bool take_early(net::Rank from, std::span<float> into);

  net::RoleContext& context_;
  const net::Tag tag_;
  std::optional<net::Message>& interruption_;
  std::uint64_t id_ = 0;
  std::map<net::Rank, std::uint32_t> sent_, received_;
  std::map<net::Rank, std::deque<net::Message>> early_;  // parts of later exchanges
};

}  // namespace mangrove::train
