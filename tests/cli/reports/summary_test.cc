#include "mangrove/cli/reports/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mangrove::cli {
namespace {

using nlohmann::json;

json advice(int boards) {
  return {{"boards", boards},
          {"predicted_speedup", boards == 1 ? 0.5 : 1.4},
          {"compute_s", 0.012},
          {"exchange_s", 0.07},
          {"why", "a step takes long"}};
}

TEST(Summary, HasTheAdviceOnce) {
  json event = advice(1);
  event["event"] = "advice";
  const std::string text = summary_table(
      {{"train", {{"advice", advice(1)}, {"events", {event, {{"event", "node_left"}, {"node", "board-3"}}}}}}});
  const std::string said = "one board would train 2.0x as fast as all (a step computes 12 ms, exchanges 70 ms)";
  const std::size_t at = text.find(said);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find(said, at + 1), std::string::npos) << text;
  EXPECT_NE(text.find("board-3 has left"), std::string::npos) << text;
  EXPECT_EQ(summary_table({{"train", json::object()}}).find("advice"), std::string::npos);
}

TEST(Summary, HasNoAdviceWhereNothingCanBeBetterOrNodesShareAMachine) {
  EXPECT_EQ(summary_table({{"train", {{"advice", advice(10)}}}}).find("advice"), std::string::npos);
  EXPECT_EQ(summary_table({{"train", {{"advice", advice(1)}, {"embedded", true}}}}).find("advice"), std::string::npos);
}

TEST(Summary, HasNumbersForPeople) {
  const json train = {{"model", "lenet"},      {"data", "glyphs"},        {"workers", 4},  {"batch", 64},
                      {"epochs", 1},           {"images_per_s", 15340.3}, {"accuracy", 1}, {"in_place_of", "mnist"},
                      {"train_seconds", 12.34}};
  const std::string text = summary_table({{"train", train}});
  for (const char* part : {"4 workers x 64 samples, 1 epoch\n", "15,340 images/s", "100.00 %", "12.3 s", "NOT mnist",
                           "mnist could not be had, so this is glyphs"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;

  const json tier = {{"tier", "cloud"}, {"labels", "fine"}, {"tasks", 0}, {"latency", {{"p50_s", 0}}}};
  const std::string tiers = summary_table({{"infer", {{"tiers", json::array({tier})}, {"images_per_s", 31240.0}}}});
  EXPECT_NE(tiers.find("31,240 images/s"), std::string::npos) << tiers;
  EXPECT_EQ(tiers.find("0 us"), std::string::npos) << tiers;
  EXPECT_EQ(tiers.find("0 s /"), std::string::npos) << "no task, no latency\n" << tiers;
}

}  // namespace
}  // namespace mangrove::cli
