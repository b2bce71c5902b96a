#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::net {

using Rank = int;
constexpr Rank kAnyRank = -1;

/// Says what a message is for; each strategy names its own. Order is kept per (sender, tag).
using Tag = std::uint32_t;

/// What the bytes of a message are, mostly: whose traffic it is in the counters.
enum class Purpose : std::uint8_t { control, parameters, gradients, activations, data };
const char* purpose_name(Purpose purpose);  // "control", ...

/// A tag carries its purpose in its highest byte, so that both ends and all counters know it. A bare number is control.
constexpr Tag make_tag(Purpose purpose, std::uint32_t number) {
  return static_cast<Tag>(purpose) << 24 | number;
}
/// Control for a number that nobody has given a meaning.
constexpr Purpose purpose_of(Tag tag) {
  return tag >> 24 <= static_cast<Tag>(Purpose::data) ? static_cast<Purpose>(tag >> 24) : Purpose::control;
}

struct Message {
  Rank from = kAnyRank;
  Tag tag = 0;
  std::string payload;
};

/// Ranks to receive from. {kAnyRank} alone means every rank: then a wait ends with `unavailable` only when no other
/// rank is alive.
using RankSet = std::vector<Rank>;

struct Member {
  Rank rank;
  std::string name;  // of the node
  bool alive;
};

/// Who is alive, as the failure detector sees it. A rank that was lost never becomes alive again under the same number:
/// a node that comes back gets the next free one, so that nothing of its old stay can be taken for the new one's.
struct Members {
  std::uint64_t version = 0;  // grows with every change
  std::vector<Member> all;    // by rank

  bool alive(Rank rank) const;
  RankSet alive_ranks() const;
};

/// Bytes sent and received.
struct Flow {
  std::int64_t sent_bytes = 0;
  std::int64_t received_bytes = 0;

  Flow& operator+=(const Flow& other) {
    sent_bytes += other.sent_bytes;
    received_bytes += other.received_bytes;
    return *this;
  }
};

/// Bytes of messages, payload and framing, that this endpoint has sent and received: all, and by the other end and
/// purpose.
struct Traffic : Flow {
  std::map<std::pair<Rank, Purpose>, Flow> by_peer;
};

/// How the members of one job talk, and the only thing that a strategy blocks on. The same strategy code runs over gRPC
/// between devices, between threads in tests, and in a simulated world.
/// threads: any thread may call any method; order between two threads' sends to one rank and tag is theirs to arrange.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual Rank rank() const = 0;
  /// Ranks are 0 .. size()-1, lost ones included. It grows when a node joins the running job.
  virtual int size() const = 0;

  /// Queues a message and returns. A message to a rank that is gone is dropped: the members say so. Strategies bound
  /// what they have in flight (a window, one answer per question), so the queue is bounded by them. A rank may send to
  /// itself.
  virtual void send(Rank to, Tag tag, std::string payload) = 0;
  /// How many bytes of messages with this tag are queued here for that rank. A rank may be slow or hostile, so a
  /// strategy that sends what others ask for must bound them. 0 if messages arrive at once.
  virtual Bytes queued_bytes(Rank /*to*/, Tag /*tag*/) const { return 0; }

  /// The oldest waiting message with this tag from one of these ranks.
  /// errors: unavailable: a rank in `from` is gone and no message from the set is waiting (ask members() which);
  /// deadline_exceeded: all are alive and silent; cancelled: the job ends (cancel() was called), whatever waits.
  /// A message that waits comes before `unavailable`, also when the deadline has passed already.
  virtual Result<Message> recv(const RankSet& from, Tag tag, Deadline deadline) = 0;
  /// The same, for the oldest waiting message with any of these tags.
  virtual Result<Message> recv_any(const RankSet& from, const std::vector<Tag>& tags, Deadline deadline) = 0;

  virtual Members members() const = 0;
  virtual Traffic traffic() const = 0;

  /// Wakes every recv, now and later, with `cancelled`.
  virtual void cancel() = 0;
};

}  // namespace mangrove::net
