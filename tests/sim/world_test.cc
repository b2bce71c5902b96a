#include "mangrove/sim/world.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/base/temporary_folder.h"
#include "tests/paths.h"

#include "mangrove/sim/fault.h"

namespace mangrove::sim {
namespace {

class WorldFile : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    EXPECT_TRUE(write_file_atomically(path, text).ok());
    return path;
  }
  std::string error_of(const std::string& text) {
    const auto world = load_world(write("world.yaml", text));
    return world.ok() ? "none" : world.error().message;
  }
  std::string fault_error_of(const std::string& text) {
    const auto world = load_world(write("world.yaml", "region here:\npi:\n  count: 2\n"));
    const auto faults = load_faults(write("faults.yaml", text), *world);
    return faults.ok() ? "none" : faults.error().message;
  }

 private:
  testing::TemporaryFolder folder_;  // its own: tests run side by side
};

TEST_F(WorldFile, SaysWhatDevicesThereAre) {
  const auto world = load_world(write("world.yaml",
                                      "region a:\n  delay: 20ms\nregion b:\n  delay: 30ms\nregion c:\n"
                                      "a - c:\n  delay: 7ms\n  loss: 0.1\n"
                                      "coordinator:\n  region: b\n  up: 1gbit\n"
                                      "pi:\n  region: a, c\n  count: 2\n  flops: 2e9\n  memory: 1GB\n  up: 8mbit\n"
                                      "  delay: 1ms\n  loss: 0.5\n"));
  ASSERT_TRUE(world.ok()) << world.error().message;
  ASSERT_EQ(world->devices.size(), 5u);
  EXPECT_EQ(world->devices[0].region, 1u);
  EXPECT_EQ(world->devices[0].up, 125e6);
  EXPECT_EQ(world->devices[3].name, "pi-3");
  EXPECT_EQ(world->devices[3].region, 2u);
  EXPECT_EQ(world->devices[3].up, 1e6);
  EXPECT_EQ(world->devices[3].memory, 1'000'000'000);
  EXPECT_DOUBLE_EQ(world->line(0, 1).delay, 0.03 + 0.02 + 0.001);  // over the middle of the world
  EXPECT_DOUBLE_EQ(world->line(1, 2).delay, 0.002);                // in one region
  EXPECT_DOUBLE_EQ(world->line(4, 1).delay, 0.007 + 0.002);        // on a way of its own
  EXPECT_DOUBLE_EQ(world->line(4, 1).loss, 1 - 0.9 * 0.5 * 0.5);
}

TEST_F(WorldFile, NamesWhatIsWrong) {
  EXPECT_NE(error_of("pi:\n  flop: 1e9\n").find("world.yaml:2: unknown key 'flop'; did you mean 'flops'?"),
            std::string::npos);
  EXPECT_NE(error_of("pi:\n  up: fast\n").find("world.yaml:2: key 'up'"), std::string::npos);
  EXPECT_NE(error_of("pi:\n  up: 1kbit\n").find("at least 8kbit"), std::string::npos);
  EXPECT_NE(error_of("region europe:\npi:\n  region: europa\n").find("did you mean 'europe'?"), std::string::npos);
  EXPECT_NE(error_of("region a:\na - a:\n  delay: 1ms\npi:\n").find("between two regions"), std::string::npos);
  EXPECT_NE(error_of("region a:\n").find("no devices"), std::string::npos);
  EXPECT_NE(error_of("pi:\n  from: 9\n  to: 8\n").find("'from' must be an hour before 'to'"), std::string::npos);
  EXPECT_NE(error_of("pi:\n  lies: flip\n").find("key 'lies': there is no lie 'flip'"), std::string::npos);
  EXPECT_NE(error_of("pi:\n  churn: 2\n").find("a number from 0 to 1"), std::string::npos);
}

TEST_F(WorldFile, OfTheExamplesCanBeRead) {
  const fs::path folder = testing::repository_path("examples/worlds");
  const auto four = load_world(folder / "boards.yaml");
  ASSERT_TRUE(four.ok()) << four.error().message;
  EXPECT_EQ(four->devices.size(), 5u);
  const auto liars = load_world(folder / "liars.yaml");
  ASSERT_TRUE(liars.ok()) << liars.error().message;
  EXPECT_EQ(std::ranges::count(liars->devices, "scale(-10)", &Device::lies), 2);
  const auto faults = load_faults(folder / "faults.yaml", *four);
  ASSERT_TRUE(faults.ok()) << faults.error().message;
  EXPECT_EQ(faults->size(), 3u);
  EXPECT_EQ((*faults)[1].devices, (std::vector<std::size_t>{1, 3}));
  const auto world = load_world(folder / "global.yaml");
  ASSERT_TRUE(world.ok()) << world.error().message;
  EXPECT_EQ(world->devices.size(), 1001u);
}

TEST_F(WorldFile, FaultsNameWhatIsWrong) {
  EXPECT_NE(fault_error_of("a:\n  fault: burn\n  devices: pi-1\n").find("'burn' is none of crash, freeze"),
            std::string::npos);
  EXPECT_NE(fault_error_of("a:\n  devices: pi-9\n").find("no device 'pi-9'"), std::string::npos);
  EXPECT_NE(fault_error_of("a:\n  devices: coordinator\n").find("no device 'coordinator'"), std::string::npos);
  EXPECT_NE(fault_error_of("a:\n  region: there\n").find("no region 'there'"), std::string::npos);
  EXPECT_NE(fault_error_of("a:\n  at: 3s\n").find("must name a device"), std::string::npos);
}

TEST(Absences, AreAsOftenAsTheWorldSays) {
  World world{.regions = {{.name = "here", .line = {}, .hour = 12}}, .ways = {}, .devices = {}};
  Device device;
  device.churn = 0.1;
  device.away = 600;
  world.devices.assign(2001, device);
  int gone = 0;
  for (std::size_t i = 1; i < world.devices.size(); ++i) {
    Absences absences(world, i, 1);
    for (Seconds back = 0; back < 3600;) {
      const std::optional<Fault> absence = absences.next();
      ASSERT_TRUE(absence);
      EXPECT_GT(absence->at, back);
      back = absence->at + absence->duration;
      gone += absence->at < 3600 ? 1 : 0;
    }
  }
  EXPECT_NEAR(gone, 200 * 1.05, 45);  // a few leave twice; three standard deviations
  device.churn = 0;
  device.from = 6;
  device.to = 22;
  world.devices.assign(2, device);
  Absences nights(world, 1, 1);
  for (const double day : {0, 1, 2}) {
    const std::optional<Fault> night = nights.next();
    ASSERT_TRUE(night);
    EXPECT_EQ(night->at, (24 * day + 10) * 3600);
    EXPECT_EQ(night->duration, 8 * 3600);
  }
}

TEST(Absences, BothKindsComeInTheOrderOfTime) {
  World world{.regions = {{.name = "here", .line = {}, .hour = 23}}, .ways = {}, .devices = {}};
  Device device;
  device.churn = 0.9;
  device.away = 60;
  device.from = 6;
  device.to = 22;
  world.devices.assign(2, device);
  Absences absences(world, 1, 1);
  const std::optional<Fault> first = absences.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->at, 0) << "it begins in the night";
  EXPECT_EQ(first->duration, 7 * 3600);
  for (Seconds before = first->at; before < 3 * 24 * 3600;) {
    const std::optional<Fault> next = absences.next();
    ASSERT_TRUE(next);
    EXPECT_GE(next->at, before);
    before = next->at;
  }
}

TEST(Absences, WhoIsAlwaysThereHasNone) {
  World world{.regions = {{.name = "here", .line = {}}}, .ways = {}, .devices = {}};
  world.devices.assign(2, Device());
  EXPECT_FALSE(Absences(world, 1, 1).next());
}

}  // namespace
}  // namespace mangrove::sim
