#include "mangrove/cli/health_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/base/temporary_folder.h"

namespace mangrove::cli {
namespace {

using testing::TemporaryFolder;

constexpr Instant kWritten{1000};

struct HealthFile : ::testing::Test {
  void SetUp() override {
    ASSERT_TRUE(write_health(path, {"node", true, "pi-3 is a node of 10.0.0.1:7070", ::getpid()}, kWritten).ok());
  }
  std::string why_not(Seconds later) const {
    const Result<Health> health = read_health(path, kWritten + later);
    return health.ok() ? "well" : std::string(code_name(health.code())) + ": " + health.error().message;
  }

  const TemporaryFolder folder;
  const fs::path path = folder / "health";
};

TEST_F(HealthFile, SaysWhatWasWritten) {
  const Result<Health> health = read_health(path, kWritten + kHealthIsOldAfter);
  ASSERT_TRUE(health.ok()) << health.error().message;
  EXPECT_EQ(health->program, "node");
  EXPECT_TRUE(health->is_ready);
  EXPECT_EQ(health->status, "pi-3 is a node of 10.0.0.1:7070");
}

TEST_F(HealthFile, IsNoSignOfLifeWhenItIsOld) {
  EXPECT_EQ(why_not(40),
            "unavailable: node has given no sign of life for 40.0 s; last it said: pi-3 is a node of 10.0.0.1:7070");
}

// The clock of the machine begins anew when it starts: the file is of the time before.
TEST_F(HealthFile, OfTheTimeBeforeARestartIsNoSignOfLife) {
  EXPECT_EQ(why_not(-900),
            "unavailable: node has given no sign of life since this machine was started; last it said: pi-3 is a node "
            "of 10.0.0.1:7070");
}

TEST_F(HealthFile, ThatIsNotThereMeansThatNothingRuns) {
  fs::remove(path);
  EXPECT_EQ(why_not(0), "unavailable: " + path.string() + " is not there: no process of Mangrove runs with this file");
}

TEST_F(HealthFile, IsKeptByTheProcessThatWroteItAsLongAsItLives) {
  EXPECT_FALSE(is_kept_by_another(path, kWritten)) << "by this one";
  ASSERT_TRUE(write_health(path, {"node", true, "", ::getppid()}, kWritten).ok());
  EXPECT_TRUE(is_kept_by_another(path, kWritten));
  EXPECT_FALSE(is_kept_by_another(path, kWritten + 40)) << "it hangs";
  constexpr std::int64_t kNobody = std::int64_t{1} << 30;  // more than the kernel gives
  for (const std::int64_t gone : {kNobody, std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    ASSERT_TRUE(write_health(path, {"node", true, "", gone}, kWritten).ok());
    EXPECT_FALSE(is_kept_by_another(path, kWritten)) << gone;
  }
}

TEST_F(HealthFile, OfAnotherKindIsAnError) {
  for (const char* text : {"", "{", "[]", "7", R"({"program":"node"})",
                           R"({"program":"node","is_ready":"yes","status":"","pid":1,"written_at_s":1})",
                           R"({"program":"node","is_ready":true,"status":"","pid":1,"written_at_s":null})"}) {
    std::ofstream(path) << text;
    EXPECT_EQ(why_not(0), "data_loss: " + path.string() + " is not a file in which a process keeps its health") << text;
  }
}

}  // namespace
}  // namespace mangrove::cli
