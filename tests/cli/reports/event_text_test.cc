#include "mangrove/cli/reports/event_text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/paths.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

TEST(EventLine, SaysWhatHappenedInOneSentence) {
  const std::pair<json, const char*> cases[] = {
      {{{"event", "node_lost"}, {"node", "pi-3"}, {"time_s", 3.1}, {"message", "no heartbeat for 3.0 s"}},
       "pi-3 is lost: no heartbeat for 3.0 s"},
      {{{"event", "work_reassigned"}, {"node", "pi-3"}, {"samples", 1500}, {"step", 40}, {"reason", "lost"}},
       "1,500 samples of pi-3 go to the others at step 40: lost"},
      {{{"event", "stopped_early"}, {"epoch", 9}, {"best_epoch", 4}, {"best_accuracy", 0.976}},
       "stopped after epoch 9: no better validation since epoch 4 (97.60 %)"},
      {{{"event", "memory_plan"},
        {"node", "pi-1"},
        {"micro_batch", 16},
        {"micro_batches", 4},
        {"recomputed_share", 0.25},
        {"predicted_peak", 105'084'768}},
       "pi-1 trains in 4 micro-batches of 16 samples to stay within 105 MB, recomputing 25 % of its activations"},
      {{{"event", "balanced"},
        {"step", 40},
        {"shares", {{{"node", "a"}, {"samples", 40}}, {{"node", "b"}, {"samples", 24}}}}},
       "from step 40 on samples are shared by speed: a 40, b 24"},
      {{{"event", "tide_turned"}, {"node", "a"}, {"at", 12}}, "tide_turned: at 12, node a"}};
  for (const auto& [event, line] : cases) EXPECT_EQ(event_line(event), line);
}

TEST(EventLine, IsEmptyWhereAllIsAsItShouldBe) {
  EXPECT_EQ(event_line({{"event", "memory_plan"}, {"micro_batches", 1}, {"recomputed_share", 0.0}}), "");
  EXPECT_EQ(event_line({{"event", "advice"}, {"boards", 4}, {"predicted_speedup", 3.5}}), "");
}

TEST(EventLine, IsOneLineWithoutControlCharactersWhateverANodeSays) {
  const json event = {{"event", "role_failed"}, {"node", "a\x1b[2J"}, {"message", "first\nsecond"}};
  EXPECT_EQ(event_line(event), "a [2J could not do its part: first second");
  EXPECT_EQ(event_line({{"event", 3}, {"node", json::object()}}), ": node {}");
  EXPECT_EQ(event_line({{"event", "node_lost"}, {"node", 7}}), "a node is lost");
}

TEST(EventLine, KnowsEveryEventOfTheDocumentation) {
  std::ifstream page(testing::repository_path("docs/json.md"));
  std::string line;
  bool in_events = false;
  int count = 0;
  while (std::getline(page, line)) {
    if (line.starts_with("## ")) in_events = line.find("`events`") != std::string::npos;
    if (!in_events || !line.starts_with("| `")) continue;
    std::istringstream names(line.substr(0, line.find(" |", 2)));
    for (std::string name; std::getline(names, name, '`') && std::getline(names, name, '`');) {
      const std::string said = event_line({{"event", name}, {"node", "n"}, {"boards", 1}, {"micro_batches", 2}});
      EXPECT_NE(said, "") << name;
      if (name.find('_') != std::string::npos) {
        EXPECT_EQ(said.find(name), std::string::npos) << "not a sentence: " << said;
      }
      ++count;
    }
  }
  EXPECT_GT(count, 20);
}

TEST(AdviceLine, SaysWhatWouldBeFaster) {
  json advice = {{"boards", 1}, {"predicted_speedup", 0.5}, {"compute_s", 0.012}, {"exchange_s", 0.07}};
  EXPECT_EQ(advice_line(advice), "one board would train 2.0x as fast as all (a step computes 12 ms, exchanges 70 ms)");
  advice["local_steps"] = 20;
  EXPECT_NE(advice_line(advice).find("; try --strategy federated --local-steps 20"), std::string::npos);
  advice["boards"] = 10;
  advice["predicted_speedup"] = 1.4;
  EXPECT_NE(advice_line(advice).find("10 boards train only 1.4x as fast as one"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::cli
