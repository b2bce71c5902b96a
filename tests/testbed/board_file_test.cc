#include "mangrove/testbed/board_file.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"
#include "tests/paths.h"

namespace mangrove::testbed {
namespace {

Result<std::vector<Board>> load(const mangrove::testing::TemporaryFolder& folder, const std::string& text) {
  EXPECT_TRUE(write_file_atomically(folder / "boards.yaml", text).ok());
  return load_boards(folder / "boards.yaml");
}

TEST(BoardFile, KindsHaveCountsAndCommonKeys) {
  const mangrove::testing::TemporaryFolder folder;
  const auto boards = load(folder,
                           "rate: 100mbit\nmemory: 1GB\n"
                           "pi:\n  count: 2\n  cpu: 0.18\n  delay: 50ms\n  jitter: 5ms\n  loss: 0.01\n"
                           "edge:\n  cpu: 1.5\n  rate: 1gbit\n"
                           "plain:\n");
  ASSERT_TRUE(boards.ok()) << boards.error().message;
  ASSERT_EQ(boards->size(), 4u);
  const Board& second = (*boards)[1];
  EXPECT_EQ((*boards)[0].name, "pi-1");
  EXPECT_EQ(second.name, "pi-2");
  EXPECT_DOUBLE_EQ(second.cpu, 0.18);
  EXPECT_EQ(second.memory, 1'000'000'000);
  EXPECT_DOUBLE_EQ(second.rate, 12.5e6);
  EXPECT_DOUBLE_EQ(second.delay, 0.05);
  EXPECT_DOUBLE_EQ(second.jitter, 0.005);
  EXPECT_DOUBLE_EQ(second.loss, 0.01);
  EXPECT_TRUE(second.has_line_faults());
  const Board& edge = (*boards)[2];
  EXPECT_EQ(edge.name, "edge");
  EXPECT_DOUBLE_EQ(edge.rate, 125e6) << "a kind's own key wins";
  EXPECT_FALSE(edge.has_line_faults());
  EXPECT_EQ((*boards)[3].name, "plain");
  EXPECT_EQ((*boards)[3].cpu, 0);
}

TEST(BoardFile, EveryExampleCanBeRead) {
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(testing::repository_path("examples/testbed"))) {
    const auto boards = load_boards(entry.path());
    EXPECT_TRUE(boards.ok()) << boards.error().message;
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

TEST(BoardFile, TenPiIsTenBoardsOfTheStudy) {
  const auto boards = load_boards(testing::repository_path("examples/testbed/ten-pi3.yaml"));
  ASSERT_TRUE(boards.ok()) << boards.error().message;
  ASSERT_EQ(boards->size(), 10u);
  double cores = 0;
  for (const Board& board : *boards) {
    cores += board.cpu;
    EXPECT_EQ(board.memory, 1'000'000'000);
    EXPECT_DOUBLE_EQ(board.rate, 12.5e6);
  }
  EXPECT_LE(cores, 2) << "all of them on two cores";
}

struct Bad {
  const char* name;
  const char* text;
  const char* message;  // after the file's path
};

class BadBoardFile : public ::testing::TestWithParam<Bad> {};

TEST_P(BadBoardFile, IsNamedWithItsLine) {
  const mangrove::testing::TemporaryFolder folder;
  const auto boards = load(folder, GetParam().text);
  ASSERT_FALSE(boards.ok());
  EXPECT_EQ(boards.code(), Code::invalid_argument);
  EXPECT_EQ(boards.error().message, (folder / "boards.yaml").string() + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    BoardFile, BadBoardFile,
    ::testing::Values(
        Bad{"unknown_key", "pi:\n  cpu: 1\n  memroy: 1GB\n", ":3: unknown key 'memroy'; did you mean 'memory'?"},
        Bad{"unknown_common_key", "rat: 1gbit\npi:\n", ":1: unknown key 'rat'; did you mean 'rate'?"},
        Bad{"bad_rate", "pi:\n  rate: fast\n", ":2: key 'rate': 'fast' is not a rate like 100mbit or 12MB/s"},
        Bad{"slow_rate", "pi:\n  rate: 1kbit\n", ":1: key 'rate': a link has at least 8kbit"},
        Bad{"no_cpu", "pi:\n  cpu: 0\n", ":2: key 'cpu': '0' is not a number from 0.05 to 1,024"},
        Bad{"little_memory", "\npi:\n  memory: 1MB\n", ":2: key 'memory': no node starts in less than 16MiB"},
        Bad{"long_delay", "pi:\n  delay: 2min\n", ":1: keys 'delay' and 'jitter': at most 60s"},
        Bad{"much_loss", "pi:\n  loss: 5\n", ":2: key 'loss': '5' is not a number from 0 to 1"},
        Bad{"bad_name", "My Board:\n",
            ":1: 'My Board' is not a name for a board: it needs lower-case letters, digits and dashes, at most 40"},
        Bad{"same_name", "pi:\n  count: 2\npi-2:\n", ":3: there is a board 'pi-2' already"},
        Bad{"key_without_value", "cpu:\npi:\n", ":1: key 'cpu' needs a single value"},
        Bad{"too_many", "pi:\n  count: 200\nedge:\n  count: 100\n", ": 300 boards: at most 250 make a testbed"},
        Bad{"no_board", "cpu: 1\n", ": no section: expected one such as 'pi:'"},
        Bad{"list", "- pi\n", ": not a board file: expected sections such as 'pi:'"}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace mangrove::testbed
