// What fuzzing has to begin with, and what it has found: each goes through its reader once more. Worth most under
// AddressSanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "fuzz/target.h"
#include "tests/paths.h"

#include "mangrove/base/file.h"
#include "mangrove/base/log.h"
#include "mangrove/base/random.h"

namespace mangrove {
namespace {

std::vector<fs::path> cases_of(const fuzz::Target& target) {
  std::vector<fs::path> cases;
  for (const char* folder : {"fuzz/seeds", "fuzz/found"}) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(fs::path(testing::repository_path(folder)) / target.name, none))
      cases.push_back(entry.path());
  }
  std::ranges::sort(cases);
  return cases;
}

class EveryReader : public ::testing::TestWithParam<fuzz::Target> {
 protected:
  void SetUp() override { set_log_level(LogLevel::off); }
  void TearDown() override { set_log_level(LogLevel::warn); }
};

TEST_P(EveryReader, SurvivesWhatWasFound) {
  const std::vector<fs::path> cases = cases_of(GetParam());
  ASSERT_FALSE(cases.empty()) << "put a seed into fuzz/seeds/" << GetParam().name;
  for (const fs::path& path : cases) {
    SCOPED_TRACE(path);
    const Result<std::string> bytes = read_file(path);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    GetParam().run(*bytes);
  }
}

TEST_P(EveryReader, SurvivesChangedAndCutSeeds) {
  constexpr int kTrials = 60;  // of each case
  Random random(1);
  for (const fs::path& path : cases_of(GetParam())) {
    SCOPED_TRACE(path);
    const std::string whole = *read_file(path);
    for (int trial = 0; trial < kTrials && !whole.empty(); ++trial) {
      std::string bytes = whole;
      for (std::uint64_t flips = random.below(4); flips > 0; --flips)
        bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      if (random.below(3) == 0) bytes.resize(random.below(bytes.size() + 1));
      GetParam().run(bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryReader, ::testing::ValuesIn(fuzz::targets().begin(), fuzz::targets().end()),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace mangrove
