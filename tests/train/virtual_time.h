#pragma once

#include <algorithm>
#include <functional>
#include <map>
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

  /// Grows with everything that may end a wait.
  std::uint64_t version() const {
    MutexLock lock(mutex_);
    return version_;
  }
  /// A message was sent, or a rank was lost or cancelled.
  void change() {
    MutexLock lock(mutex_);
    wake();
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
    wake();
  }
  /// Until something changes from what was found at `seen`, or the deadline passes.
  void wait(net::Rank rank, Deadline deadline, std::uint64_t seen) {
    MutexLock lock(mutex_);
    if (version_ != seen) return;
    waiting_[rank] = deadline;
    if (waiting_.size() == ranks_) go_on();
    while (version_ == seen) changed_.wait_for(mutex_, 60);
  }

 private:
  /// To the next thing that happens. The caller is not waiting meanwhile, so the world stays where it is.
  void go_on() MG_REQUIRES(mutex_) {
    Deadline first = to_come_.empty() ? Deadline::never() : to_come_.begin()->first;
    for (const auto& [waiter, at] : waiting_) first = std::min(first, at);
    if (first == Deadline::never()) return;
    now_ = std::max(now_, first);
    std::vector<std::function<void()>> due;
    while (!to_come_.empty() && to_come_.begin()->first <= now_) {
      due.push_back(std::move(to_come_.begin()->second));
      to_come_.erase(to_come_.begin());
    }
    waiting_.clear();
    mutex_.unlock();
    for (const auto& action : due) action();
    mutex_.lock();
    wake();
  }
  void wake() MG_REQUIRES(mutex_) {
    ++version_;
    waiting_.clear();  // they look again
    changed_.notify_all();
  }

  mutable Mutex mutex_;
  Condition changed_;
  mutable Instant now_ MG_GUARDED_BY(mutex_);
  std::uint64_t version_ MG_GUARDED_BY(mutex_) = 0;
  std::size_t ranks_ MG_GUARDED_BY(mutex_);
  std::map<net::Rank, Deadline> waiting_ MG_GUARDED_BY(mutex_);
  std::multimap<Instant, std::function<void()>> to_come_ MG_GUARDED_BY(mutex_);  // equal times in order of asking
};

}  // namespace mangrove
