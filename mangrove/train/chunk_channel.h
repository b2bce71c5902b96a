#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "mangrove/job/role.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/transfer_stats.h"

namespace mangrove::train {

/// How a worker sends floats to other workers, in parts. A part belongs to an exchange, which the leader has numbered,
/// and to one of its streams. The parts from one rank to another in one stream arrive in order or not at all. threads:
/// one at a time.
class ChunkChannel {
 public:
  /// tag: the tag of the parts. interruption: receives the message from the leader that ends a wait.
  ChunkChannel(job::RoleContext& context, net::Tag tag, std::optional<net::Message>& interruption)
      : context_(context), tag_(tag), interruption_(interruption) {}

  /// Begins the exchange of this number between these ranks. Parts of earlier exchanges are dropped. Parts of later
  /// ones are kept: their senders know of these exchanges already, and this rank will.
  void begin(std::uint64_t id, std::span<const net::Rank> group);
  void send(net::Rank to, std::uint32_t stream, std::span<const float> values);
  /// Sends encoded floats. float_bytes: the bytes that the plain floats would have.
  void send(net::Rank to, std::uint32_t stream, std::string_view message, std::size_t float_bytes,
            const Difference* difference = nullptr);

  /// Floats that have arrived, as bytes.
  struct Arrived {
    std::string payload;
    std::size_t offset = 0;
    Difference difference = {};
    std::string_view body() const { return std::string_view(payload).substr(offset); }
  };
  /// The next part of a stream from a rank, if it has arrived.
  std::optional<Arrived> take(net::Rank from, std::uint32_t stream);
  /// The last part that was taken is invalid. It counts as lost, and so do all parts behind it.
  void refuse(net::Rank from, std::uint32_t stream);

  /// Takes in the parts that have arrived from these ranks, and waits for the first one. Returns false if none has
  /// arrived by the deadline. errors: cancelled (the leader has other work, or the job ends), unavailable (one of the
  /// ranks or the leader is gone).
  Result<bool> wait(const net::RankSet& from, Deadline deadline);

  /// Describes for the leader how far this exchange is, when nothing has come from this rank for a while.
  void describe_waiting(net::Rank from, Waiting& waiting) const;
  /// Everything that was ever sent.
  const TransferStats& transfer_stats() const { return transfer_stats_; }

 private:
  using Line = std::pair<net::Rank, std::uint32_t>;  // a rank, and a stream to or from it
  std::string begin_part(net::Rank to, std::uint32_t stream, std::size_t bytes, const Difference* difference);
  void post(net::Rank to, std::string payload, std::size_t float_bytes);
  void accept(net::Message message);

  job::RoleContext& context_;
  const net::Tag tag_;
  std::optional<net::Message>& interruption_;
  TransferStats transfer_stats_;
  std::uint64_t id_ = 0;
  std::map<net::Rank, std::uint32_t> sent_, received_;
  std::map<Line, std::uint32_t> next_sent_, next_received_;  // sequence numbers
  std::map<Line, std::deque<Arrived>> arrived_;
  std::map<net::Rank, std::deque<net::Message>> early_;  // parts of later exchanges
};

}  // namespace mangrove::train
