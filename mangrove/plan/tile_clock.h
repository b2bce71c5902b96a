#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/plan/tile_problem.h"

namespace mangrove::plan {

/// The links between the devices of a problem, ready for the many look-ups of a search. threads: any.
class TileLinks {
 public:
  /// The problem must outlive it. REQUIRES: check(problem) is ok.
  explicit TileLinks(const TileProblem& problem);

  std::size_t devices() const { return devices_.size(); }
  const TileDevice& device(std::size_t device) const { return devices_[device]; }
  /// The time of a byte on the way between two devices, beside that on their links.
  Seconds way_byte(std::size_t from, std::size_t to) const { return pairs_[from * devices() + to].byte; }
  /// One-way delay from one device to another: of both links and the way between them.
  Seconds delay(std::size_t from, std::size_t to) const { return pairs_[from * devices() + to].delay; }
  /// The time of a byte on a device's link.
  Seconds link_byte(std::size_t device) const { return link_bytes_[device]; }
  /// From packing to unpacking, if nothing else is under way.
  Seconds message_time(std::size_t from, std::size_t to, Bytes bytes) const;
  bool has_slow_ways() const { return has_slow_ways_; }
  /// Processor time for a message, at each end.
  Seconds handling(std::size_t device, Bytes bytes) const {
    return devices_[device].message_seconds + static_cast<double>(bytes) * devices_[device].byte_seconds;
  }

 private:
  struct Pair {
    Seconds byte = 0, delay = 0;
  };
  std::span<const TileDevice> devices_;
  std::vector<Seconds> link_bytes_;
  std::vector<Pair> pairs_;
  bool has_slow_ways_ = false;
};

/// A message between two blocks.
struct TileMessage {
  std::size_t from = 0, to = 0;
  Bytes bytes = 0;
};

/// What devices and links do for one micro-batch, in time. A copy goes on independently, so a search can try several
/// continuations.
///
/// A device does one thing after the other: it computes, packs what it sends, unpacks what it has received. What a
/// device sends shares its link, as connections do: each message has the same part of the rate while others are under
/// way. What it receives comes one after the other; so does what takes a way whose rate is limited, in each direction.
/// A message takes all of these at the same time, so the slowest one gives its rate. The order is fixed. Exchanges come
/// in the order of the blocks. In an exchange, a device packs its messages in the order in which they are given; ways
/// and receiving links carry them in the order in which their sending began; and a device unpacks them in the order in
/// which they arrive, all before it computes.
class TileClock {
 public:
  /// links: must outlive it.
  explicit TileClock(const TileLinks& links);

  const TileLinks& links() const { return *links_; }

  /// One exchange: all messages between two blocks. Senders have computed what they send.
  void carry(std::span<const TileMessage> messages);
  void compute(std::size_t device, Seconds seconds) { work(device, seconds); }

  /// When a device is done with all that it has been given.
  Seconds done(std::size_t device) const { return devices_[device].processor.at; }
  /// Whether no device is done earlier than in the other one.
  bool is_nowhere_sooner(const TileClock& other) const;
  /// The busiest device's or link's time.
  Seconds period() const { return busiest_use().seconds; }
  Bytes sent() const { return sent_; }

  /// From now on, remembers what everything waits for.
  void remember() { remembers_ = true; }
  /// What most of the time until a device is done is spent on, among all that it has waited for: "computing on n1",
  /// "the way from n1 to n2". REQUIRES: remember() was called at the beginning.
  std::string longest_wait(std::size_t device) const;
  /// What takes the period.
  std::string busiest() const;

 private:
  static constexpr std::size_t kAnybody = static_cast<std::size_t>(-1);
  /// A time, and the number of the activity that ends then, if these are remembered. 0: the beginning.
  struct Moment {
    Seconds at = 0;
    std::size_t activity = 0;
  };
  struct Activity {
    std::size_t from = 0, to = 0;  // the same: the processor of a device
    std::size_t before = 0;        // the activity that it waited for
    Seconds seconds = 0;
  };
  struct Use {
    Moment processor, sending, receiving;  // when they are free
    Seconds busy = 0;                      // computing, packing and unpacking
    Bytes sent = 0, received = 0;
  };
  struct WayUse {
    Moment free;
    Bytes bytes = 0;
  };
  struct BusyTime {
    Seconds seconds = 0;
    std::size_t from = 0, to = 0;  // as in an activity; to kAnybody: a device's link
  };
  struct Moving {
    const TileMessage* message;
    Moment begin, end;  // when its first byte leaves, and when its last byte has passed so far
  };

  static const Moment& later(const Moment& a, const Moment& b) { return b.at > a.at ? b : a; }
  Moment after(const Moment& begin, Seconds seconds, std::size_t from, std::size_t to);
  void work(std::size_t device, Seconds seconds);
  Moving pack(const TileMessage& message);
  void send(std::span<Moving> messages);
  void deliver(Moving& moving);
  BusyTime busiest_use() const;
  std::string name(std::size_t from, std::size_t to) const;

  const TileLinks* links_;
  std::vector<Use> devices_;
  std::vector<WayUse> ways_;  // of each ordered pair of devices; none where no way is limited
  Bytes sent_ = 0;
  bool remembers_ = false;
  std::vector<Activity> activities_;  // from number 1
};

}  // namespace mangrove::plan
