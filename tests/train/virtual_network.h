#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tests/train/virtual_time.h"

#include "mangrove/base/mutex.h"
#include "mangrove/net/in_process.h"

namespace mangrove {

/// The links between the ranks of a world in virtual time: a message takes `latency`; on one link none overtakes
/// another; and while a rank is cut off, what goes to it or comes from it waits. threads: any.
class VirtualNetwork {
 public:
  VirtualNetwork(net::InProcessWorld& world, VirtualTime& time, Seconds latency)
      : world_(world), time_(time), latency_(latency) {}

  void send(net::Rank from, net::Rank to, net::Tag tag, std::string payload) {
    const Instant now = time_.now();
    Instant arrival = now + latency_;
    {
      MutexLock lock(mutex_);
      if (sent_++ == delayed_) arrival = now + delay_;
      Instant& last = last_arrival_[{from, to}];
      arrival = last = std::max(arrival, last);
    }
    auto letter = std::make_shared<Letter>(Letter{from, to, tag, std::move(payload)});
    if (arrival <= now) return arrive(letter);
    time_.at(arrival, [this, letter] { arrive(letter); });
  }

  void cut_off(net::Rank rank, Instant until) {
    MutexLock lock(mutex_);
    cut_until_[rank] = until;
  }
  /// The number-th message of all (from 0), and those that follow it on its link, arrive so much later.
  void delay(int number, Seconds by) {
    MutexLock lock(mutex_);
    delayed_ = number;
    delay_ = by;
  }
  /// Messages so far.
  int sent() const {
    MutexLock lock(mutex_);
    return sent_;
  }

 private:
  struct Letter {
    net::Rank from, to;
    net::Tag tag;
    std::string payload;
  };

  void arrive(const std::shared_ptr<Letter>& letter) {
    const Instant now = time_.now();
    Instant free;
    {
      MutexLock lock(mutex_);
      free = std::max(cut_until_[letter->from], cut_until_[letter->to]);
    }
    if (now < free) return time_.at(free, [this, letter] { arrive(letter); });
    world_.endpoint(letter->from).send(letter->to, letter->tag, std::move(letter->payload));
    time_.change();
  }

  net::InProcessWorld& world_;
  VirtualTime& time_;
  const Seconds latency_;
  mutable Mutex mutex_;
  int sent_ MG_GUARDED_BY(mutex_) = 0;
  int delayed_ MG_GUARDED_BY(mutex_) = -1;
  Seconds delay_ MG_GUARDED_BY(mutex_) = 0;
  std::map<std::pair<net::Rank, net::Rank>, Instant> last_arrival_ MG_GUARDED_BY(mutex_);
  std::map<net::Rank, Instant> cut_until_ MG_GUARDED_BY(mutex_);
};

}  // namespace mangrove
