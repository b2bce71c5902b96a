#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::sensors {

/// One message of a source, as it came.
struct Message {
  std::string topic;
  std::string payload;
  Seconds arrived = 0;  // since 1970
  /// Where the sender waits for the answer: called once, on any thread. Empty: it does not wait.
  std::function<void(Result<std::string>)> reply = {};
};

/// What to do with a message that finds the queue full.
enum class WhenFull { drop_oldest, drop_newest };

/// The messages of one source that nobody has looked at yet: bounded in number and bytes.
/// threads: any thread may call any method.
class MessageQueue {
 public:
  struct Limits {
    std::int64_t messages = 1000;
    Bytes bytes = 16'000'000;
    WhenFull when_full = WhenFull::drop_oldest;
  };
  explicit MessageQueue(const Limits& limits) : limits_(limits) {}

  /// Returns how many messages were dropped for it: itself, or older ones. Those that waited for an answer get
  /// resource_exhausted.
  std::uint64_t push(Message message);
  /// Takes up to `count`, the oldest first.
  std::vector<Message> take(std::size_t count);
  std::size_t size() const;

 private:
  static Bytes bytes_of(const Message& message) {
    return static_cast<Bytes>(message.topic.size() + message.payload.size() + sizeof(Message));
  }
  bool has_room(Bytes bytes) const MG_REQUIRES(mutex_) {
    return static_cast<std::int64_t>(messages_.size()) < limits_.messages && bytes_ + bytes <= limits_.bytes;
  }
  Message pop() MG_REQUIRES(mutex_);

  const Limits limits_;
  mutable Mutex mutex_;
  std::deque<Message> messages_ MG_GUARDED_BY(mutex_);
  Bytes bytes_ MG_GUARDED_BY(mutex_) = 0;
};

}  // namespace mangrove::sensors
