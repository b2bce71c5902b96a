#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "mangrove/base/clock.h"

// Clang's thread-safety annotations: a clang build with -Wthread-safety proves that guarded members are only touched
// under their lock. Other compilers ignore them.
#if defined(__clang__)
#define MG_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define MG_THREAD_ANNOTATION(x)
#endif
#define MG_GUARDED_BY(mutex) MG_THREAD_ANNOTATION(guarded_by(mutex))
#define MG_REQUIRES(...) MG_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define MG_EXCLUDES(...) MG_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace mangrove {

/// std::mutex with annotations.
class MG_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() MG_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() MG_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

class MG_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MG_THREAD_ANNOTATION(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() MG_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// Condition variable over a Mutex. There is no wait without a bound: every wait has one.
class Condition {
 public:
  /// Waits for a notification, at most `duration`; may also wake for no reason, so test the condition in a loop.
  void wait_for(Mutex& mutex, Seconds duration) MG_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait_for(lock, std::chrono::duration<double>(std::clamp(duration, 0.0, 3600.0)));
    lock.release();
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace mangrove
