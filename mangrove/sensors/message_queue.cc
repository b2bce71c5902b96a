#include "mangrove/sensors/message_queue.h"

#include <algorithm>
#include <utility>

namespace mangrove::sensors {

Message MessageQueue::pop() {
  Message message = std::move(messages_.front());
  messages_.pop_front();
  bytes_ -= bytes_of(message);
  return message;
}

std::uint64_t MessageQueue::push(Message message) {
  const Bytes bytes = bytes_of(message);
  std::vector<Message> dropped;
  {
    const MutexLock lock(mutex_);
    if (limits_.when_full == WhenFull::drop_oldest && bytes <= limits_.bytes)
      while (!messages_.empty() && !has_room(bytes)) dropped.push_back(pop());
    if (has_room(bytes)) {
      bytes_ += bytes;
      messages_.push_back(std::move(message));
    } else {
      dropped.push_back(std::move(message));
    }
  }
  for (const Message& lost : dropped)
    if (lost.reply) lost.reply(make_error(Code::resource_exhausted, "too many messages wait: try again later"));
  return dropped.size();
}

std::vector<Message> MessageQueue::take(std::size_t count) {
  const MutexLock lock(mutex_);
  std::vector<Message> taken;
  while (taken.size() < count && !messages_.empty()) taken.push_back(pop());
  return taken;
}

std::size_t MessageQueue::size() const {
  const MutexLock lock(mutex_);
  return messages_.size();
}

}  // namespace mangrove::sensors
