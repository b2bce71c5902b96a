#include "mangrove/infer/pipeline/device_profile.h"

#include <gtest/gtest.h>

namespace mangrove::infer {
namespace {

std::vector<DeviceProfile> two_devices() {
  return {{.rank = 1, .name = "a", .host = "h", .operator_seconds = {1, 2}, .read_seconds = 1},
          {.rank = 2, .name = "b", .host = "h", .operator_seconds = {4, 4}, .read_seconds = 2}};
}

TEST(Calibrate, MakesThePredictionOfOneNodeWhatItTook) {
  std::vector<DeviceProfile> devices = two_devices();
  calibrate(devices, 1, 6);
  EXPECT_EQ(devices[0].single_seconds(), 6);
  EXPECT_EQ(devices[0].operator_seconds, (std::vector<Seconds>{1.5, 3}));
  EXPECT_EQ(devices[1].single_seconds(), 15) << "all by the same factor";
}

TEST(Calibrate, DoesNotBelieveEverything) {
  std::vector<DeviceProfile> devices = two_devices();
  calibrate(devices, 1, 4000);
  EXPECT_EQ(devices[0].single_seconds(), 8);
  calibrate(devices, 1, 1e-9);
  EXPECT_EQ(devices[0].single_seconds(), 4);
  calibrate(devices, 1, 0);
  calibrate(devices, 7, 100);
  EXPECT_EQ(devices[0].single_seconds(), 4);
}

}  // namespace
}  // namespace mangrove::infer
