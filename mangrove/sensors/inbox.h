#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/sensors/link.h"
#include "mangrove/sensors/question.h"
#include "mangrove/serve/model.h"

namespace mangrove::sensors {

/// A question that a model is done with.
struct Answered {
  std::shared_ptr<Question> question;
  std::shared_ptr<serve::Model> model;
  Result<serve::InferenceResponse> response;
};

/// What other threads tell the thread of a service: links and models hold it for as long as they may call.
/// threads: any.
class Inbox {
 public:
  struct Content {
    std::vector<Answered> answered;
    std::vector<Receipt> receipts;  // of letters
    bool is_stopping = false;
    Deadline until = Deadline::never();  // once it is being stopped

    bool has_events() const { return !answered.empty() || !receipts.empty(); }
  };

  void add(Answered answered) {
    const MutexLock lock(mutex_);
    content_.answered.push_back(std::move(answered));
    wake_locked();
  }
  void add(const Receipt& receipt) {
    const MutexLock lock(mutex_);
    content_.receipts.push_back(receipt);
    wake_locked();
  }
  void wake() {
    const MutexLock lock(mutex_);
    wake_locked();
  }
  void stop(Deadline until) {
    const MutexLock lock(mutex_);
    content_.is_stopping = true;
    content_.until = until;
    wake_locked();
  }
  bool is_stopping() const {
    const MutexLock lock(mutex_);
    return content_.is_stopping;
  }

  /// All that has come; waits for something, but no longer than this.
  Content take(Seconds at_most) {
    const MutexLock lock(mutex_);
    if (!is_awake_ && at_most > 0) changed_.wait_for(mutex_, at_most);
    is_awake_ = false;
    Content taken = std::move(content_);
    content_ = {.answered = {}, .receipts = {}, .is_stopping = taken.is_stopping, .until = taken.until};
    return taken;
  }

 private:
  void wake_locked() MG_REQUIRES(mutex_) {
    is_awake_ = true;
    changed_.notify_one();
  }
  mutable Mutex mutex_;
  Condition changed_;
  Content content_ MG_GUARDED_BY(mutex_);
  bool is_awake_ MG_GUARDED_BY(mutex_) = false;
};

}  // namespace mangrove::sensors
