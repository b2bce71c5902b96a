#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "mangrove/net/endpoint.h"
#include "mangrove/net/peer.pb.h"
#include "mangrove/net/traffic_meter.h"

namespace mangrove::net {

/// A message on its way out, and whose traffic it is.
struct Outgoing {
  Envelope envelope;
  std::shared_ptr<TrafficMeter> meter;
};

/// What has to go over one link: numbered messages that are kept until the receiver has receipted them.
/// threads: one thread at a time.
class SendQueue {
 public:
  void push(std::unique_ptr<Outgoing> message);
  /// The oldest message that was not yet written to the present stream, null if there is none; it counts as written
  /// now.
  std::shared_ptr<const Outgoing> next();
  void acknowledge(std::uint64_t sequence);
  /// A new stream: everything that is not receipted is to be written again.
  void rewind() { written_ = 0; }
  /// The rank is gone: its messages are dropped, now and later.
  void drop(const std::string& job, Rank rank);
  /// No endpoint uses the link any more: the ranks that are gone need not be remembered.
  void forget_lost() { lost_.clear(); }

  /// The bytes of messages with this tag for that rank that have no receipt yet.
  Bytes queued_bytes(const std::string& job, Rank to, Tag tag) const;
  bool empty() const { return messages_.empty(); }
  bool has_next() const { return written_ < messages_.size(); }

 private:
  std::deque<std::shared_ptr<const Outgoing>> messages_;  // by sequence number
  std::size_t written_ = 0;                               // how many of them, from the front, are on the stream
  std::uint64_t last_sequence_ = 0;
  std::set<std::pair<std::string, Rank>> lost_;
};

}  // namespace mangrove::net
