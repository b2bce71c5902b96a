#include "mangrove/job/frame_queue.h"

#include <utility>

namespace mangrove::job {

bool FrameQueue::push(Frame frame) {
  MutexLock lock(mutex_);
  const auto has_room = [&]() MG_REQUIRES(mutex_) {
    return frames_.empty() || (frames_.size() < kMostFrames && bytes_ + frame.image.size() <= kMostBytes);
  };
  while (!closed_ && !has_room()) changed_.wait_for(mutex_, 60);
  if (closed_) return false;
  frame.came = clock_.now();
  bytes_ += frame.image.size();
  frames_.push_back(std::move(frame));
  if (listener_) listener_();
  return true;
}

void FrameQueue::end() {
  MutexLock lock(mutex_);
  ended_ = true;
  if (listener_) listener_();
}

std::optional<Frame> FrameQueue::pop() {
  MutexLock lock(mutex_);
  if (frames_.empty()) return std::nullopt;
  Frame frame = std::move(frames_.front());
  frames_.pop_front();
  bytes_ -= frame.image.size();
  changed_.notify_all();
  return frame;
}

bool FrameQueue::is_over() const {
  MutexLock lock(mutex_);
  return closed_ || (ended_ && frames_.empty());
}

void FrameQueue::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void FrameQueue::set_listener(std::function<void()> listener) {
  MutexLock lock(mutex_);
  listener_ = std::move(listener);
}

}  // namespace mangrove::job
