#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tests/train/virtual_time.h"

#include "mangrove/base/mutex.h"
#include "mangrove/base/random.h"
#include "mangrove/net/in_process.h"

namespace mangrove {

/// The links between the ranks of a world in virtual time: a message takes `latency` and up to `jitter` more, by chance
/// that is the same in each run; on one link none overtakes another; and while a rank is cut off, what goes to it or
/// comes from it waits. With a jitter, messages of different links do not arrive at the same time, so that who is last
/// does not depend on the threads of this machine. threads: any.
class VirtualNetwork {
 public:
  VirtualNetwork(net::InProcessWorld& world, VirtualTime& time, Seconds latency, Seconds jitter)
      : world_(world), time_(time), latency_(latency), jitter_(jitter) {}

  void send(net::Rank from, net::Rank to, net::Tag tag, std::string payload) {
    const Instant now = time_.now();
    Instant arrival = now + latency_;
    {
      MutexLock lock(mutex_);
      Link& link = links_.try_emplace({from, to}, from, to).first->second;
      arrival = arrival + jitter_ * link.chance.uniform();
      if (sent_++ == delayed_) arrival = now + delay_;
      arrival = link.last_arrival = std::max(arrival, link.last_arrival);
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

  struct Link {
    Link(net::Rank from, net::Rank to) : chance(static_cast<std::uint64_t>(from * 1000 + to)) {}
    Instant last_arrival;
    Random chance;
  };

  void arrive(const std::shared_ptr<Letter>& letter) {
    const Instant now = time_.now();
    Instant free;
    {
      MutexLock lock(mutex_);
      free = std::max(cut_until_[letter->from], cut_until_[letter->to]);
    }
    if (now < free) return time_.at(free, [this, letter] { arrive(letter); });
    const net::Rank to = letter->to;
    world_.endpoint(letter->from).send(to, letter->tag, std::move(letter->payload));
    time_.change(to);
  }

  net::InProcessWorld& world_;
  VirtualTime& time_;
  const Seconds latency_, jitter_;
  mutable Mutex mutex_;
  int sent_ MG_GUARDED_BY(mutex_) = 0;
  int delayed_ MG_GUARDED_BY(mutex_) = -1;
  Seconds delay_ MG_GUARDED_BY(mutex_) = 0;
  std::map<std::pair<net::Rank, net::Rank>, Link> links_ MG_GUARDED_BY(mutex_);
  std::map<net::Rank, Instant> cut_until_ MG_GUARDED_BY(mutex_);
};

}  // namespace mangrove
