#include "mangrove/plan/alike.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mangrove/plan/kinds.h"

namespace mangrove::plan {
namespace {

Device device(const std::string& name, std::vector<Seconds> seconds, Bytes memory = 0) {
  return {.name = name, .seconds = std::move(seconds), .memory = memory};
}

/// How many kinds of devices the planner sees.
std::size_t kinds_of(const std::vector<Device>& devices) {
  return interchangeable(Problem{.network = {}, .devices = devices}).size();
}

TEST(MakeEqual, TakesTheMeanOfTimesAndTheWorstOfAllElse) {
  std::vector<Device> devices = {
      {"a", {1, 4}, 300, 10, 1e6, 0.1, 2e9, 2, 0.5}, {"b", {3, 4}, 200, 30, 0, 0.2, 1e9, 3, 0.1}, {"c", {2, 7}}};
  make_equal(devices);
  EXPECT_EQ(kinds_of(devices), 1u);
  EXPECT_EQ(devices[0].seconds, (std::vector<Seconds>{2, 5}));
  EXPECT_EQ(devices[2].name, "c");
  EXPECT_EQ(devices[2].memory, 200) << "c has no limit";
  EXPECT_EQ(devices[2].reserved, 30);
  EXPECT_EQ(devices[2].rate, 1e6) << "b and c have no limit";
  EXPECT_EQ(devices[2].delay, 0.2);
  EXPECT_EQ(devices[2].handling, 1e9);
  EXPECT_EQ(devices[2].watts, 3);
  EXPECT_EQ(devices[2].overhead, 0.5);
}

TEST(MakeAlike, SmallDifferencesAreNone) {
  std::vector<Device> devices = {device("a", {1, 1}), device("b", {2, 2}), device("c", {1.1, 1}), device("d", {2, 2.2}),
                                 device("e", {1.4, 0.7})};
  make_alike(devices, 0.1);
  EXPECT_EQ(kinds_of(devices), 3u);
  EXPECT_EQ(devices[0].seconds, (std::vector<Seconds>{1.05, 1}));
  EXPECT_EQ(devices[2].seconds, devices[0].seconds);
  EXPECT_EQ(devices[1].seconds, (std::vector<Seconds>{2, 2.1}));
  EXPECT_EQ(devices[3].seconds, devices[1].seconds);
  EXPECT_EQ(devices[4].seconds, (std::vector<Seconds>{1.4, 0.7})) << "as fast as a, but not with each layer";
}

TEST(MakeAlike, MemoryTellsDevicesApart) {
  std::vector<Device> devices = {device("a", {1}, 1000), device("b", {1}, 1050), device("c", {1}, 2000),
                                 device("d", {1})};
  make_alike(devices, 0.1);
  EXPECT_EQ(kinds_of(devices), 3u);
  EXPECT_EQ(devices[0].memory, 1000);
  EXPECT_EQ(devices[1].memory, 1000) << "each has as much";
  EXPECT_EQ(devices[2].memory, 2000);
  EXPECT_EQ(devices[3].memory, 0);
}

TEST(MakeAlike, ManyKindsAreToldApartLessWell) {
  std::vector<Device> devices;
  for (int i = 0; i < 14; ++i) devices.push_back(device("d", {std::pow(1.4, i)}));
  make_alike(devices, 0.15);
  EXPECT_EQ(kinds_of(devices), 7u) << "of two each, at twice the tolerance";
  std::vector<Device> free(20, device("d", {0}));
  for (std::size_t i = 0; i < free.size(); ++i) free[i].memory = Bytes{1} << i;
  make_alike(free, 0.15);
  EXPECT_LE(kinds_of(free), kMostKinds);
}

TEST(MakeAlike, SoAreFewKindsOfManyDevices) {
  std::vector<Device> devices;  // 8 kinds of 4 can be chosen among in 390,625 ways
  for (int i = 0; i < 32; ++i) devices.push_back(device("d", {std::pow(1.5, i / 4)}));
  make_alike(devices, 0.15);
  EXPECT_LT(kinds_of(devices), 8u);
}

}  // namespace
}  // namespace mangrove::plan
