#pragma once

#include <cstddef>
#include <cstdint>

namespace mangrove::train {

class Answer;

/// The number of messages in one direction, their bytes with headers, and the bytes that their floats would have
/// without a codec.
struct TransferStats {
  std::int64_t messages = 0, bytes = 0, float_bytes = 0;

  void add(std::size_t message, std::size_t floats) {
    ++messages;
    bytes += static_cast<std::int64_t>(message);
    float_bytes += static_cast<std::int64_t>(floats);
  }
  TransferStats& operator+=(const TransferStats& other) {
    messages += other.messages;
    bytes += other.bytes;
    float_bytes += other.float_bytes;
    return *this;
  }
};

/// Puts the traffic between a worker and other workers into the worker's answer.
void put_transfer_stats(const TransferStats& stats, Answer& answer);

}  // namespace mangrove::train
