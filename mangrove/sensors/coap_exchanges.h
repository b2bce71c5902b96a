#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "mangrove/base/clock.h"
#include "mangrove/base/units.h"

namespace mangrove::sensors {

/// Knows a message that comes a second time, because its sender has not heard that it has come. It remembers the last
/// 1,000 messages, and each for 247 s: after that its sender may give the same number to another one.
/// source: RFC 7252, 4.4 Message Correlation and 4.8.2 Time Values (EXCHANGE_LIFETIME). threads: one.
class CoapExchanges {
 public:
  /// key: the addresses, the number and the token of the message. Remembers it, if it is new.
  bool is_repeated(std::string key, Instant now) {
    while (!messages_.empty() && now - messages_.front().came > kLifetime) messages_.pop_front();
    if (std::ranges::find(messages_, key, &Message::key) != messages_.end()) return true;
    messages_.push_back({.key = std::move(key), .came = now});
    if (messages_.size() > kMostMessages) messages_.pop_front();
    return false;
  }

 private:
  static constexpr Seconds kLifetime = 247;
  static constexpr std::size_t kMostMessages = 1000;
  struct Message {
    std::string key;
    Instant came;
  };
  std::deque<Message> messages_;  // by the time at which they came
};

}  // namespace mangrove::sensors
