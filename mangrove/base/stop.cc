#include "mangrove/base/stop.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace mangrove {

void wait_for_stop(const std::stop_token& stop) {
  constexpr Seconds kHour = 3600;
  while (!wait_for_stop(stop, kHour)) {
  }
}

bool wait_for_stop(const std::stop_token& stop, Seconds at_most) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, stop, std::chrono::duration<double>(at_most), [] { return false; });
  return stop.stop_requested();
}

}  // namespace mangrove
