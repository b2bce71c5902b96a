#pragma once

#include <atomic>
#include <cstdint>

#include "mangrove/net/endpoint.h"

namespace mangrove::net {

/// Counts the bytes of one endpoint. threads: any thread may call any method.
class TrafficMeter {
 public:
  void sent(std::size_t bytes) { sent_bytes_ += static_cast<std::int64_t>(bytes); }
  void received(std::size_t bytes) { received_bytes_ += static_cast<std::int64_t>(bytes); }
  Traffic read() const { return {sent_bytes_.load(), received_bytes_.load()}; }

 private:
  std::atomic<std::int64_t> sent_bytes_ = 0;
  std::atomic<std::int64_t> received_bytes_ = 0;
};

}  // namespace mangrove::net
