#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"
#include "mangrove/net/endpoint.h"

namespace mangrove {

/// The time of a world in which computing takes none: when every rank waits for a message and none is on its way, it
/// becomes the earliest of their deadlines, or of what is to happen then. So a deadline passes where a rank is silent,
/// and never because the machine is slow. Each look at the clock takes a microsecond. threads: any; one waits for each
/// rank.
class VirtualTime final : public Clock {
 public:
  explicit VirtualTime(std::size_t ranks) : ranks_(ranks) {}

  Instant now() const override {
    MutexLock lock(mutex_);
    now_.seconds += 1e-6;
    return now_;
  }
  void sleep_until(Instant) override { MG_CHECK_MSG(false, "a strategy waits for messages only"); }

  /// Grows with everything that may end a wait of this rank.
  std::uint64_t version(net::Rank rank) {
    MutexLock lock(mutex_);
    return waiters_[rank].version;
  }
  /// A message has come to this rank.
  void change(net::Rank rank) {
    MutexLock lock(mutex_);
    wake(waiters_[rank]);
  }
  /// A rank was lost or cancelled: every rank looks what that means to it.
  void change() {
    MutexLock lock(mutex_);
    wake_all();
  }
  /// Happens when the world has come to that time. The action may send messages, and lose ranks.
  void at(Instant when, std::function<void()> action) {
    MutexLock lock(mutex_);
    to_come_.emplace(when, std::move(action));
  }
  /// One more rank that waits.
  void enter() {
    MutexLock lock(mutex_);
    ++ranks_;
  }
  /// A rank's role has ended: nobody waits for it any more.
  void leave() {
    MutexLock lock(mutex_);
    --ranks_;
    wake_all();
  }
  /// Until something changes for this rank from what was found at `seen`, or the deadline passes.
  void wait(net::Rank rank, Deadline deadline, std::uint64_t seen) {
    MutexLock lock(mutex_);
    Waiter& own = waiters_[rank];
    if (own.version != seen) return;
    if (!own.until) ++waiting_;
    own.until = deadline;
    while (waiting_ == ranks_ && !moves_ && go_on()) {
    }
    while (own.version == seen) own.changed.wait_for(mutex_, 60);
  }

 private:
  struct Waiter {
    std::uint64_t version = 0;
    std::optional<Deadline> until;  // while it waits
    Condition changed;
  };

  /// To the next thing that happens; false: none will. The world stays at that time until all of it has happened.
  bool go_on() MG_REQUIRES(mutex_) {
    Deadline first = to_come_.empty() ? Deadline::never() : to_come_.begin()->first;
    for (const auto& [rank, waiter] : waiters_)
      if (waiter.until) first = std::min(first, *waiter.until);
    if (first == Deadline::never()) return false;
    now_ = std::max(now_, first);
    std::vector<std::function<void()>> due;
    while (!to_come_.empty() && to_come_.begin()->first <= now_) {
      due.push_back(std::move(to_come_.begin()->second));
      to_come_.erase(to_come_.begin());
    }
    moves_ = true;
    mutex_.unlock();
    for (const auto& action : due) action();
    mutex_.lock();
    moves_ = false;
    for (auto& [rank, waiter] : waiters_)
      if (waiter.until && *waiter.until <= now_) wake(waiter);
    return true;
  }
  void wake(Waiter& waiter) MG_REQUIRES(mutex_) {
    ++waiter.version;
    if (!waiter.until) return;
    waiter.until.reset();  // it looks again
    --waiting_;
    waiter.changed.notify_all();
  }
  void wake_all() MG_REQUIRES(mutex_) {
    for (auto& [rank, waiter] : waiters_) wake(waiter);
  }

  mutable Mutex mutex_;
  mutable Instant now_ MG_GUARDED_BY(mutex_);
  std::size_t ranks_ MG_GUARDED_BY(mutex_);
  std::map<net::Rank, Waiter> waiters_ MG_GUARDED_BY(mutex_);
  std::size_t waiting_ MG_GUARDED_BY(mutex_) = 0;                                // of them
  bool moves_ MG_GUARDED_BY(mutex_) = false;                                     // what happens now is happening
  std::multimap<Instant, std::function<void()>> to_come_ MG_GUARDED_BY(mutex_);  // equal times in order of asking
};

}  // namespace mangrove
