#include "mangrove/base/stop.h"

#include <gtest/gtest.h>

#include <thread>

#include "mangrove/base/clock.h"

namespace mangrove {
namespace {

TEST(WaitForStop, EndsWhenStopIsRequestedAndNotBefore) {
  std::stop_source stop;
  std::jthread other([&] { wait_for_stop(stop.get_token()); });
  EXPECT_FALSE(wait_for_stop(stop.get_token(), 0.01));
  stop.request_stop();
  other.join();
  EXPECT_TRUE(wait_for_stop(stop.get_token(), 3600));
}

TEST(WaitForStop, WaitsAsLongAsItIsTold) {
  const SteadyClock clock;
  const Instant start = clock.now();
  EXPECT_FALSE(wait_for_stop({}, 0.05));
  EXPECT_GE(clock.now() - start, 0.05);
}

}  // namespace
}  // namespace mangrove
