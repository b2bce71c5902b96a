#include "mangrove/cli/reports/event_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "mangrove/cluster/node_event.h"
#include "mangrove/train/events.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

template <class E>
std::string line_of(const E& event) {
  return event_text(json(job::event_json(event))).line;
}

TEST(EventText, IsTheSentenceOfTheSender) {
  const EventText lost = event_text(
      json::parse(cluster::NodeEvent(cluster::kNodeLost, "pi-3", 3.1, "no heartbeat for 3.0 s").report().json));
  EXPECT_EQ(lost.line, "pi-3 is lost: no heartbeat for 3.0 s");
  EXPECT_TRUE(lost.is_warning);
  EXPECT_FALSE(lost.is_advice);
  EXPECT_EQ(lost.time, 3.1);
  EXPECT_EQ(line_of(train::WorkReassigned{"pi-3", "lost", 1500, 40}),
            "1,500 samples of pi-3 go to the others at step 40: lost");
}

TEST(EventText, IsEmptyWhereAllIsAsItShouldBe) {
  EXPECT_EQ(line_of(train::MemoryPlanned{.node = "a", .micro_batch = 64, .micro_batches = 1}), "");
  EXPECT_EQ(line_of(train::AdviceGiven{{.boards = 4, .speedup = 3.5}}), "");
}

TEST(EventText, NamesKeysAndValuesOfAnEventWithoutASentence) {
  const EventText text = event_text(json{{"event", "tide_turned"}, {"node", "a"}, {"at", 12}, {"kind", "event"}});
  EXPECT_EQ(text.line, "tide_turned: at 12, node a");
  EXPECT_FALSE(text.is_warning);
}

TEST(EventText, IsOneLineWithoutControlCharactersWhateverANodeSays) {
  const cluster::NodeEvent event(cluster::kRoleFailed, "a\x1b[2J", 0, "first\nsecond");
  EXPECT_EQ(event_text(json::parse(event.report().json)).line, "a [2J could not do its part: first second");
  EXPECT_EQ(event_text(json{{"event", 3}, {"node", json::object()}}).line, ": node {}");
  EXPECT_EQ(event_text(json{{"event", "node_lost"}, {"sentence", 7}}).line, ": sentence 7");
}

TEST(EventText, KnowsAdvice) {
  EXPECT_TRUE(event_text(json(job::event_json(train::AdviceGiven{{.boards = 1}}))).is_advice);
}

}  // namespace
}  // namespace mangrove::cli
