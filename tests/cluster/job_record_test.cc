#include "mangrove/cluster/job_record.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mangrove::cluster {
namespace {

using nlohmann::json;

Member node(MemberId id, const std::string& name) {
  Member made;
  made.id = id;
  made.description.set_name(name);
  return made;
}

TEST(JobRecord, PutsEventsOfNodesAndOfRank0IntoTheResult) {
  JobRecord record("job-1", {10});
  record.add_node(node(1, "pi"), {10});
  record.add_event(kNodeLost, "pi", "", {12.5});
  record.set_state(1, MemberState::lost);
  EXPECT_TRUE(record.take({.kind = ReportKind::event, .json = R"({"event":"recut"})", .attachment = {}}));
  EXPECT_FALSE(record.take({.kind = ReportKind::result, .json = R"({"loss":1})", .attachment = "model"}));
  EXPECT_TRUE(record.has_result());
  const auto result = record.take_result();
  ASSERT_TRUE(result.ok() && *result);
  EXPECT_EQ((*result)->attachment, "model");
  const json whole = json::parse((*result)->json);
  EXPECT_EQ(whole["loss"], 1);
  EXPECT_EQ(whole["nodes"][0]["name"], "pi");
  EXPECT_EQ(whole["nodes"][0]["state"], "lost");
  ASSERT_EQ(whole["events"].size(), 2u);
  EXPECT_EQ(whole["events"][0],
            json::parse(R"({"event":"node_lost","node":"pi","time_s":2.5,"sentence":"pi is lost","warning":true})"));
  EXPECT_EQ(whole["events"][1]["event"], "recut");
}

TEST(JobRecord, TellsTheClientOfAnEventOfANodeOnce) {
  JobRecord record("job-1", {0});
  record.add_event(kRoleFailed, "pi", "no disk", {1});
  EXPECT_TRUE(record.has_news());
  const std::vector<Report> told = record.take_events();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(json::parse(told.front().json)["message"], "no disk");
  EXPECT_FALSE(record.has_news());
  EXPECT_TRUE(record.take_events().empty());
}

TEST(JobRecord, KnowsHowFarTheJobIsAndWhatItsNodesUse) {
  JobRecord record("job-1", {0});
  record.add_node(node(1, "pi"), {0});
  ResourceUse use;
  use.set_rss_bytes(4096);
  record.add_use(1, use, {1});
  record.add_use(2, use, {1});  // none of the job's
  EXPECT_EQ(record.progress(), "");
  EXPECT_TRUE(record.take({.kind = ReportKind::progress, .json = R"({"step":3})", .attachment = {}}));
  EXPECT_EQ(record.progress(), R"({"step":3})");
  const json nodes = json::parse(record.nodes_report().json);
  ASSERT_EQ(nodes["nodes"].size(), 1u);
  EXPECT_EQ(nodes["nodes"][0]["rss_bytes"], 4096);
  EXPECT_EQ(nodes["samples"][0]["job"], "job-1");
}

TEST(JobRecord, WithoutAResultHasNoneAndRefusesWhatIsNoObject) {
  JobRecord record("job-1", {0});
  EXPECT_FALSE(*record.take_result());
  record.take({.kind = ReportKind::result, .json = "[1]", .attachment = {}});
  EXPECT_EQ(record.take_result().code(), Code::internal);
}

}  // namespace
}  // namespace mangrove::cluster
