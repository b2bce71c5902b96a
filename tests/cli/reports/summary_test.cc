#include "mangrove/cli/reports/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/reports/whole_json.h"

#include "mangrove/cluster/node_event.h"
#include "mangrove/infer/pipeline/report.h"
#include "mangrove/infer/tiers/report.h"
#include "mangrove/infer/tiles/report.h"
#include "mangrove/train/result.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

json trained(const json& part) {
  return {{"train", whole<train::TrainResult>(part)}};
}

json advice(int boards) {
  return {{"boards", boards},
          {"predicted_speedup", boards == 1 ? 0.5 : 1.4},
          {"compute_s", 0.012},
          {"exchange_s", 0.07},
          {"why", "a step takes long"}};
}

TEST(Summary, HasTheAdviceOnce) {
  json event = advice(1);
  event.update({{"event", "advice"}, {"sentence", "advice: of this"}});
  const json left = json::parse(cluster::NodeEvent(cluster::kNodeLeft, "board-3", 1).report().json);
  const std::string text = summary_table(trained({{"advice", advice(1)}, {"events", {event, left}}}));
  const std::string said = "one board would train 2.0x as fast as all (a step computes 12 ms, exchanges 70 ms)";
  const std::size_t at = text.find(said);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find(said, at + 1), std::string::npos) << text;
  EXPECT_NE(text.find("board-3 has left"), std::string::npos) << text;
  EXPECT_EQ(summary_table(trained(json::object())).find("advice"), std::string::npos);
}

TEST(Summary, HasNoAdviceWhereNothingCanBeBetterOrNodesShareAMachine) {
  EXPECT_EQ(summary_table(trained({{"advice", advice(10)}})).find("advice"), std::string::npos);
  EXPECT_EQ(summary_table(trained({{"advice", advice(1)}, {"embedded", true}})).find("advice"), std::string::npos);
}

TEST(Summary, SaysWhatPrivateTrainingHasSpent) {
  json privacy = {{"protects", "samples"}, {"epsilon", 3.987}, {"delta", 1e-5},
                  {"budget", 4},           {"clip", 1},        {"noise", 0.9},
                  {"rate", 0.1},           {"steps", 40},      {"noise_is_of_seed", false}};
  const auto row = [&] {
    const std::string text = summary_table(trained({{"privacy", privacy}}));
    const std::size_t at = text.find("privacy of samples");
    return at == std::string::npos ? text : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(row(), "privacy of samples         epsilon 3.99 of 4.00 spent, delta 1e-05");
  privacy["noise_is_of_seed"] = true;
  EXPECT_EQ(row(),
            "privacy of samples         epsilon 3.99 of 4.00 spent, delta 1e-05; nothing for those who know the seed");
  EXPECT_EQ(summary_table(trained(json::object())).find("privacy"), std::string::npos);
}

TEST(Summary, SaysWhatItCannotRead) {
  json result = trained(json::object());
  result["train"]["epochs"] = "many";
  EXPECT_EQ(summary_table(result), "Not readable here: train: epochs: expected a whole number, got string\n");
}

TEST(Summary, HasNumbersForPeople) {
  const json train = {{"model", "lenet"},      {"data", "glyphs"},        {"workers", 4},  {"batch", 64},
                      {"epochs", 1},           {"images_per_s", 15340.3}, {"accuracy", 1}, {"in_place_of", "mnist"},
                      {"train_seconds", 12.34}};
  const std::string text = summary_table(trained(train));
  for (const char* part : {"4 workers x 64 samples, 1 epoch\n", "15,340 images/s", "100.00 %", "12.3 s", "NOT mnist",
                           "mnist could not be had, so this is glyphs"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;

  const json tier = whole<infer::TiersResult::Tier>({{"tier", "cloud"}, {"labels", "fine"}});
  const std::string tiers = summary_table(
      {{"infer", whole<infer::TiersResult>({{"tiers", json::array({tier})}, {"images_per_s", 31240.0}})}});
  EXPECT_NE(tiers.find("31,240 images/s"), std::string::npos) << tiers;
  EXPECT_EQ(tiers.find("0 us"), std::string::npos) << tiers;
  EXPECT_EQ(tiers.find("0 s /"), std::string::npos) << "no task, no latency\n" << tiers;
}

void expect_eighty_columns(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

const json kOperators = {"stage1.block1.conv1", "stage1.block1.norm1", "stage1.block1.relu1", "stage1.block1.conv2",
                         "stage1.block1.relu2"};
const char* const kBoard = "greenhouse-4";  // as long a name as has room

TEST(Summary, TablesOfStagesFitIntoEightyColumns) {
  const json stage = {{"stage", 11},
                      {"node", kBoard},
                      {"forward_s", 0.123},
                      {"backward_s", 0.234},
                      {"busy_s", 0.345},
                      {"predicted_busy_s", 0.456},
                      {"idle", 1},
                      {"predicted_idle", 1},
                      {"operators", kOperators},
                      {"parameters", 138'357'544},
                      {"in_flight", 16}};
  const std::string text = summary_table(trained({{"stages", json::array({whole<train::TrainedStage>(stage)})}}));
  expect_eighty_columns(text);
  for (const char* part : {"busy (predicted)", "345 ms (456 ms)", "idle (predicted)", "100.00 % (100.00 %)",
                           "138,357,544  stage1.block1.conv1 ..\n", " stage1.block1.relu2 (5)\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;

  const json running = {{"stage", 11},
                        {"node", kBoard},
                        {"operators", kOperators},
                        {"busy_s", 0.345},
                        {"predicted_busy_s", 0.456},
                        {"utilisation", 1},
                        {"predicted_utilisation", 1},
                        {"queue_mean", 10.5},
                        {"queue_max", 64},
                        {"rss_bytes", 123'000'000},
                        {"predicted_rss_bytes", 234'000'000},
                        {"bytes_per_image", 4600}};
  const json stages = json::array({whole<infer::StageReport>(running)});
  const std::string pipeline = summary_table({{"infer", whole<infer::PipelineResult>({{"stages", stages}})}});
  expect_eighty_columns(pipeline);
  for (const char* part : {"utilisation (predicted)", "10.5 / 64\n", "memory (predicted)", "123 MB (234 MB)"})
    EXPECT_NE(pipeline.find(part), std::string::npos) << part << "\n" << pipeline;
}

TEST(Summary, TableOfTilesFitsIntoEightyColumns) {
  const json tile = {{"node", kBoard}, {"region", {112, 112, 224, 224}}, {"busy_s", 0.345}, {"predicted_busy_s", 0.3}};
  const json block =
      whole<infer::TileBlockReport>({{"first", "conv1"},
                                     {"last", "stage2.block1.relu"},
                                     {"operators", 19},
                                     {"tiles", json::array({whole<infer::TileBlockReport::Tile>(tile)})}});
  const json team = whole<infer::TileTeamReport>({{"source", kBoard}, {"blocks", json::array({block})}});
  const std::string text = summary_table({{"infer", whole<infer::TilesResult>({{"teams", json::array({team})}})}});
  for (const char* part : {"  block 1: conv1 .. stage2.block1.relu (19)\n", "busy (predicted)  tile\n",
                           "345 ms (300 ms)  rows 112-223, columns 112-223\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

}  // namespace
}  // namespace mangrove::cli
