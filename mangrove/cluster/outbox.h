#pragma once

#include <deque>
#include <functional>
#include <stop_token>
#include <thread>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/message_limits.h"

namespace mangrove::cluster {

/// How long what waits may still be written to a stream that has ended.
inline constexpr Seconds kLastWordsWithin = 1;

/// Messages on their way into one stream: sending never waits for a slow or frozen peer, a thread of the outbox does.
/// If more waits than there is room for, the stream is cut, since its peer reads nothing.
/// threads: any thread may call any method.
template <class Message>
class Outbox {
 public:
  using Write = std::function<bool(const Message&)>;  // may block; false: the stream is broken
  using Cut = std::function<void()>;                  // makes a blocked Write return false

  /// room: how many bytes may wait; a single message may be longer. on_full: called before the stream is cut for lack
  /// of room.
  Outbox(
      Write write, Cut cut, Bytes room = longest_by_memory(), std::function<void()> on_full = [] {})
      : write_(std::move(write)), cut_(std::move(cut)), on_full_(std::move(on_full)), room_(room), writer_([this] {
          run();
        }) {}
  ~Outbox() { close(0); }

  void send(Message message) {
    MutexLock lock(mutex_);
    if (!closed_) push(std::move(message));
  }

  /// For what the next message will supersede: dropped when the peer is behind.
  void send_if_keeping_up(Message message) {
    MutexLock lock(mutex_);
    if (!closed_ && waiting_.size() < kBehind) push(std::move(message));
  }

  /// Takes no more, writes what waits for at most `grace`, then cuts the stream if some is left. Afterwards nothing is
  /// written any more. Returns whether everything was written.
  bool close(Seconds grace) {
    bool written = true;
    {
      MutexLock lock(mutex_);
      closed_ = true;
      changed_.notify_all();
      const SteadyClock clock;
      const Deadline deadline = clock.after(grace);
      while (!over_ && clock.now() < deadline) changed_.wait_for(mutex_, deadline - clock.now());
      if (!over_) {
        forget();
        cut_();
      }
      written = over_ && !broken_;
    }
    MutexLock joining(join_mutex_);
    if (writer_.joinable()) writer_.join();
    return written;
  }

 private:
  static constexpr std::size_t kBehind = 16;

  static Bytes cost(const Message& message) {
    constexpr Bytes kOverhead = 64;
    if constexpr (requires { message.ByteSizeLong(); }) {
      return static_cast<Bytes>(message.ByteSizeLong()) + kOverhead;
    } else {
      return static_cast<Bytes>(message.size()) + kOverhead;
    }
  }

  void push(Message message) MG_REQUIRES(mutex_) {
    const Bytes bytes = cost(message);
    if (!waiting_.empty() && waiting_bytes_ + bytes > room_) {
      broken_ = closed_ = true;
      forget();
      on_full_();
      cut_();
    } else {
      waiting_bytes_ += bytes;
      waiting_.push_back(std::move(message));
    }
    changed_.notify_all();
  }

  void forget() MG_REQUIRES(mutex_) {
    waiting_.clear();
    waiting_bytes_ = 0;
  }

  void run() {
    MutexLock lock(mutex_);
    while (true) {
      while (waiting_.empty() && !closed_) changed_.wait_for(mutex_, 60);
      if (waiting_.empty()) break;
      const Message message = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= cost(message);
      mutex_.unlock();
      const bool written = write_(message);
      mutex_.lock();
      if (written) continue;
      broken_ = closed_ = true;
      forget();
    }
    over_ = true;
    changed_.notify_all();
  }

  Write write_;
  Cut cut_;
  std::function<void()> on_full_;
  const Bytes room_;
  Mutex mutex_;
  Condition changed_;
  std::deque<Message> waiting_ MG_GUARDED_BY(mutex_);
  Bytes waiting_bytes_ MG_GUARDED_BY(mutex_) = 0;
  bool closed_ MG_GUARDED_BY(mutex_) = false;
  bool broken_ MG_GUARDED_BY(mutex_) = false;
  bool over_ MG_GUARDED_BY(mutex_) = false;
  Mutex join_mutex_;  // never taken while mutex_ is held
  std::jthread writer_;
};

}  // namespace mangrove::cluster
