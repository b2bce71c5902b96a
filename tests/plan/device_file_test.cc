#include "mangrove/plan/device_file.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"

namespace mangrove::plan {
namespace {

using mangrove::testing::TemporaryFolder;

Result<DeviceFile> load(const TemporaryFolder& folder, const std::string& text) {
  EXPECT_TRUE(write_file_atomically(folder / "d.yaml", text).ok());
  return load_devices(folder / "d.yaml");
}

TEST(DeviceFile, HasKindsLinksAndWays) {
  const TemporaryFolder folder;
  const auto file = load(folder,
                         "rate: 80mbit\n"
                         "pi:\n  count: 2\n  speed: 0.5\n  memory: 700MB\n  watts: 4\n"
                         "cloud:\n  profile: cloud.yaml\n  rate: 1gbit\n  delay: 1ms\n  handling: 8gbit\n"
                         "pi - cloud:\n  rate: 10mbit\n  delay: 50ms\n"
                         "pi - pi:\n  rate: 40mbit\n");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->devices.size(), 3u);
  EXPECT_EQ(file->devices[0].device.name, "pi-1");
  EXPECT_EQ(file->devices[1].device.name, "pi-2");
  EXPECT_EQ(file->devices[2].device.name, "cloud");
  EXPECT_EQ(file->devices[1].speed, 0.5);
  EXPECT_EQ(file->devices[1].device.memory, 700'000'000);
  EXPECT_EQ(file->devices[1].device.rate, 10e6);
  EXPECT_EQ(file->devices[1].device.watts, 4);
  EXPECT_EQ(file->devices[2].device.rate, 125e6);
  EXPECT_EQ(file->devices[2].device.handling, 1e9);
  EXPECT_EQ(file->devices[2].profile, folder / "cloud.yaml");
  ASSERT_EQ(file->ways.size(), 3u);
  EXPECT_EQ(file->ways.at({0, 2}), (Way{1.25e6, 0.05}));
  EXPECT_EQ(file->ways.at({1, 2}), (Way{1.25e6, 0.05}));
  EXPECT_EQ(file->ways.at({0, 1}), (Way{5e6, 0}));
}

struct BadDeviceFile {
  const char* name;
  const char* text;
  const char* says;
};

class BadDevices : public ::testing::TestWithParam<BadDeviceFile> {};

TEST_P(BadDevices, AreRefusedWithFileAndLine) {
  const TemporaryFolder folder;
  const auto file = load(folder, GetParam().text);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.code(), Code::invalid_argument);
  EXPECT_NE(file.error().message.find(GetParam().says), std::string::npos) << file.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    File, BadDevices,
    ::testing::Values(BadDeviceFile{"key", "pi:\n  sped: 1\n", "d.yaml:2: unknown key 'sped'; did you mean 'speed'?"},
                      BadDeviceFile{"value", "pi:\n  speed: 0\n", "d.yaml:2: key 'speed'"},
                      BadDeviceFile{"common", "rat: 1mbit\npi:\n", "d.yaml:1: unknown key 'rat'"},
                      BadDeviceFile{"section", "rate:\n  x: 1\n", "d.yaml:1: key 'rate' needs a single value"},
                      BadDeviceFile{"way", "pi:\npi - clod:\n  rate: 1mbit\n", "d.yaml:2: there is no kind 'clod'"},
                      BadDeviceFile{"way_key", "pi:\n  count: 2\npi - pi:\n  speed: 1\n", "unknown key 'speed'"},
                      BadDeviceFile{"twice", "a:\nb:\na - b:\n  rate: 1mbit\nb - a:\n  rate: 1mbit\n", "given twice"},
                      BadDeviceFile{"only_ways", "pi - pi:\n  rate: 1mbit\n", "no kind 'pi'"}),
    [](const auto& suite) { return std::string(suite.param.name); });

}  // namespace
}  // namespace mangrove::plan
