#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"

namespace mangrove::job {

/// An image that a client pushes to its job.
struct Frame {
  std::string name;
  std::string image;    // an image file
  std::string problem;  // why there is no image; else ""
  Instant came = {};    // set by FrameQueue::push
};

/// Frames on their way from a client to rank 0 of its job: a bounded number, so that a client that is faster than the
/// job waits. threads: any thread may call any method; one pushes.
class FrameQueue {
 public:
  static constexpr std::size_t kMostFrames = 64, kMostBytes = 32'000'000;  // or one frame of any size

  explicit FrameQueue(const Clock& clock) : clock_(clock) {}

  /// Waits while it is full. False: nobody takes frames any more.
  bool push(Frame frame);
  /// The last one was pushed.
  void end();

  /// The oldest one. Does not wait.
  std::optional<Frame> pop();
  /// Nothing is here and nothing comes any more.
  bool is_over() const;
  /// Nobody takes frames any more.
  void close();
  /// Called after every push and at the end, on the thread that pushes. {}: nobody listens any more.
  void set_listener(std::function<void()> listener);

 private:
  const Clock& clock_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Frame> frames_ MG_GUARDED_BY(mutex_);
  std::size_t bytes_ MG_GUARDED_BY(mutex_) = 0;
  bool ended_ MG_GUARDED_BY(mutex_) = false, closed_ MG_GUARDED_BY(mutex_) = false;
  std::function<void()> listener_ MG_GUARDED_BY(mutex_);
};

}  // namespace mangrove::job
