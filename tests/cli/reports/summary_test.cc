#include "mangrove/cli/reports/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "mangrove/cli/reports/progress.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

json advice(int boards) {
  return {{"boards", boards}, {"predicted_speedup", 0.5}, {"why", "a step takes long"}};
}

TEST(AdviceLine, SaysHowManyBoardsAndWhy) {
  EXPECT_EQ(advice_line(advice(1)), "use 1 board: a step takes long");
  EXPECT_EQ(advice_line(advice(10)), "use 10 boards: a step takes long");
}

TEST(Summary, HasTheAdviceOnce) {
  json event = advice(1);
  event["event"] = "advice";
  const std::string text = summary_table(
      {{"train", {{"advice", advice(1)}, {"events", {event, {{"event", "node_left"}, {"node", "board-3"}}}}}}});
  const std::size_t at = text.find("a step takes long");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find("a step takes long", at + 1), std::string::npos) << text;
  EXPECT_NE(text.find("board-3"), std::string::npos) << text;
  EXPECT_EQ(summary_table({{"train", json::object()}}).find("advice"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::cli
