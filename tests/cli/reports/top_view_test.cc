#include "mangrove/cli/reports/top_view.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "mangrove/base/units.h"
#include "mangrove/cluster/cluster_status.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;
using Emphasis = FrameLine::Emphasis;

void add_node(cluster::ListNodesResponse& status, const std::string& name, int rank, double compute) {
  cluster::NodeStatus& node = *status.add_nodes();
  node.mutable_description()->set_name(name);
  node.mutable_description()->set_cores(4);
  node.mutable_description()->set_memory_bytes(1'000'000'000);
  node.set_state("alive");
  if (rank > 0) {
    node.add_roles()->set_job_id("job-7");
    node.mutable_roles(0)->set_rank(rank);
  }
  node.set_heartbeat_age(0.25);
  node.set_sent_per_s(2e6);
  node.set_received_per_s(3e6);
  node.mutable_use()->set_cpu_percent(200);
  node.mutable_use()->set_rss_bytes(500'000'000);
  if (compute == 0) return;
  node.mutable_use()->mutable_steps()->set_count(2);
  for (const double share : {0.5, 1.5}) {  // the mean is what counts
    cluster::StepSeconds& step = *node.mutable_use()->mutable_steps()->add_recent();
    step.set_load(share * compute / 10);
    step.set_compute(share * compute * 9 / 10);
    step.set_wait(share * compute / 4);
  }
}

cluster::ListNodesResponse shown_training() {
  cluster::ListNodesResponse status;
  for (int rank = 1; rank <= 3; ++rank) add_node(status, "pi-" + std::to_string(rank), rank, rank == 2 ? 0.4 : 0.1);
  cluster::CurrentJob& job = *status.add_jobs();
  job.set_id("job-7");
  job.set_kind("train");
  job.set_strategy("parameter_server");
  job.set_state("running");
  job.set_progress(
      R"({"phase":"train","epoch":1,"epochs":2,"loss":0.25,"done":5,"total":10,"images_per_s":10.0,"eta_s":0.5})");
  return status;
}

std::string screen_text(const std::vector<FrameLine>& frame) {
  std::string text;
  for (const FrameLine& line : frame) text += line.text + "\n";
  return text;
}

bool screen_has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TopView, ShowsTheJobTheNodesAndTheStraggler) {
  const auto frame = top_frame("host:7070", shown_training(), {.columns = 200, .rows = 40});
  const std::string text = screen_text(frame);
  for (const char* part : {"host:7070: 3 nodes, 3 alive", "job-7: train, parameter_server", "loss 0.2500",
                           "straggler: pi-2 loads and computes 400 ms", "worker 3", "250 ms", "200.0 %", "500 MB",
                           "2.00 MB/s", "3.00 MB/s", "[##########..........]", "8 %", "72 %"})
    EXPECT_TRUE(screen_has(text, part)) << part << "\n" << text;
  ASSERT_EQ(frame.size(), 8u);
  EXPECT_EQ(frame[5].emphasis, Emphasis::none);
  EXPECT_EQ(frame[6].emphasis, Emphasis::warning) << "pi-2";
}

TEST(TopView, ColumnsStandUnderTheirHeadings) {
  for (const int columns : {80, 110, 140, 200}) {
    const auto frame = top_frame("h:1", shown_training(), {.columns = columns, .rows = 40});
    for (const FrameLine& line : frame) EXPECT_LE(text_width(line.text), columns) << line.text;
    const std::string &heading = frame[4].text, &node = frame[5].text;
    EXPECT_EQ(heading.find("received") + 8, node.find("3.00 MB/s") + 9) << columns << "\n" << heading << "\n" << node;
    EXPECT_EQ(heading.find("cpu") + 3, node.find("200.0 %") + 7) << columns;
  }
}

TEST(TopView, KeepsWhatMattersMostInANarrowWindow) {
  const auto frame = top_frame("h:1", shown_training(), {.columns = 60, .rows = 20});
  for (const FrameLine& line : frame) EXPECT_LE(text_width(line.text), 60) << line.text;
  for (const char* part : {"node", "state", "cpu", "memory"})
    EXPECT_TRUE(screen_has(frame[4].text, part)) << frame[4].text;
  EXPECT_FALSE(screen_has(frame[4].text, "heartbeat"));
}

TEST(TopView, NonsenseFromANodeIsShownAsUnknown) {
  cluster::ListNodesResponse status = shown_training();
  cluster::NodeStatus& node = *status.mutable_nodes(0);
  node.mutable_description()->set_name("evil\x1b[2J");
  node.mutable_use()->set_rss_bytes(std::numeric_limits<std::int64_t>::min());
  node.mutable_use()->set_cpu_percent(std::numeric_limits<double>::quiet_NaN());
  const std::string line = top_frame("h:1", status, {.columns = 120, .rows = 40})[5].text;
  EXPECT_TRUE(screen_has(line, "evil?[2J")) << line;
  EXPECT_EQ(line.find("nan"), std::string::npos) << line;
  EXPECT_EQ(line.find("-92"), std::string::npos) << line;
}

TEST(TopView, AnIdleClusterHasNoJobAndNoStraggler) {
  cluster::ListNodesResponse status;
  add_node(status, "a", 0, 0);
  add_node(status, "b", 0, 0);
  status.mutable_nodes(1)->set_state("lost");
  const auto frame = top_frame("h:1", status, {});
  EXPECT_TRUE(screen_has(screen_text(frame), "2 nodes, 1 alive")) << screen_text(frame);
  EXPECT_TRUE(screen_has(screen_text(frame), "no job runs"));
  EXPECT_FALSE(screen_has(screen_text(frame), "straggler"));
  EXPECT_EQ(frame.back().emphasis, Emphasis::warning) << "the lost one";
  EXPECT_TRUE(screen_has(screen_text(top_frame("h:1", {}, {})), "0 nodes"));
}

TEST(TopView, ALostNodeIsNoStraggler) {
  cluster::ListNodesResponse status = shown_training();
  status.mutable_nodes(1)->set_state("lost");
  EXPECT_FALSE(screen_has(screen_text(top_frame("h:1", status, {})), "straggler"));
}

TEST(TopView, CountsTheNodesThatDoNotFit) {
  cluster::ListNodesResponse status;
  for (int i = 0; i < 100; ++i) add_node(status, "n" + std::to_string(i), 0, 0);
  for (const int rows : {24, 10, 1, 0, -1}) {
    const auto frame = top_frame("h:1", status, {.columns = 80, .rows = rows});
    EXPECT_LE(static_cast<int>(frame.size()), std::max(rows, 7)) << rows;
    EXPECT_TRUE(screen_has(frame.back().text, "more")) << rows;
  }
  const auto whole = top_frame("h:1", status, {.columns = 80, .rows = 1'000'000});
  EXPECT_EQ(whole.size(), 104u);
}

TEST(TopView, JsonHasTheSame) {
  cluster::ListNodesResponse status = shown_training();
  status.mutable_nodes(0)->mutable_use()->set_temperature_c(55);
  const json object = cluster::cluster_json("h:1", status);
  EXPECT_EQ(object["coordinator"], "h:1");
  EXPECT_EQ(object["straggler"], "pi-2");
  EXPECT_EQ(object["jobs"][0]["progress"]["loss"], 0.25);
  ASSERT_EQ(object["nodes"].size(), 3u);
  const json& node = object["nodes"][0];
  EXPECT_EQ(node["roles"], (json{{{"job", "job-7"}, {"role", "worker 1"}}}));
  EXPECT_EQ(node["sent_per_s"], 2e6);
  EXPECT_EQ(node["temperature_c"], 55);
  EXPECT_EQ(node["steps"]["count"], 2);
  EXPECT_NEAR(node["steps"]["load_s"].get<double>(), 0.01, 1e-9);
  EXPECT_NEAR(node["steps"]["compute_s"].get<double>(), 0.09, 1e-9);
  EXPECT_FALSE(object["nodes"][1].contains("temperature_c"));

  const json idle = cluster::cluster_json("h:1", {});
  EXPECT_EQ(idle["jobs"], json::array());
  EXPECT_TRUE(idle["straggler"].is_null());
  EXPECT_EQ(idle["nodes"], json::array());
}

TEST(Screen, DrawsLineForLineWithoutClearing) {
  const std::string text = ::mangrove::cli::screen_text(
      {{"title", Emphasis::heading}, {"a long line"}, {"slow", Emphasis::warning}, {"cut"}}, {.columns = 6, .rows = 3},
      true);
  EXPECT_EQ(text, "\x1b[H\x1b[1mtitle\x1b[0m\x1b[K\r\na long\x1b[K\r\n\x1b[33mslow\x1b[0m\x1b[K\x1b[J");
  EXPECT_EQ(::mangrove::cli::screen_text({{"slow", Emphasis::warning}}, {.columns = 6, .rows = 3}, false),
            "\x1b[Hslow\x1b[K\x1b[J");
}

TEST(Screen, CutsByCharactersAndShowsNoControlCharacters) {
  EXPECT_EQ(fitted("n\xc3\xa9mo", 2), "n\xc3\xa9");
  EXPECT_EQ(text_width("n\xc3\xa9mo"), 4);
  EXPECT_EQ(fitted("a\x1b[31mb\n", 80), "a?[31mb?");
  EXPECT_EQ(fitted("a\u009b31m", 80), "a?31m") << "the same as ESC [ to some";
}

TEST(TopView, SaysWhatTheCoordinatorHasRefused) {
  cluster::ListNodesResponse status = shown_training();
  EXPECT_FALSE(screen_has(screen_text(top_frame("h:1", status, {.columns = 200, .rows = 40})), "refused"));
  EXPECT_EQ(cluster::cluster_json("h:1", status)["refused"], json::object());
  (*status.mutable_refused())["too_many_joins"] = 1200;
  (*status.mutable_refused())["not_allowed"] = 3;
  const std::string text = screen_text(top_frame("h:1", status, {.columns = 200, .rows = 40}));
  EXPECT_TRUE(screen_has(text, "refused: 3 not allowed, 1,200 too many joins\n")) << text;
  EXPECT_EQ(cluster::cluster_json("h:1", status)["refused"], (json{{"not_allowed", 3}, {"too_many_joins", 1200}}));
}

TEST(TopView, ShowsAFewOfManyJobsAndCountsTheRolesOfANode) {
  cluster::ListNodesResponse status = shown_training();
  for (int i = 8; i < 15; ++i) {
    cluster::CurrentJob& job = *status.add_jobs();
    job.set_id("job-" + std::to_string(i));
    job.set_kind("infer");
    job.set_strategy("pipeline");
    job.set_state("waiting");
  }
  status.mutable_nodes(0)->add_roles()->set_job_id("job-8");
  const std::string text = screen_text(top_frame("h:1", status, {.columns = 120, .rows = 40}));
  EXPECT_TRUE(screen_has(text, "job-8: infer, pipeline: waits for nodes\n")) << text;
  EXPECT_TRUE(screen_has(text, "... and 3 more jobs\n")) << text;
  EXPECT_FALSE(screen_has(text, "job-12:")) << text;
  EXPECT_TRUE(screen_has(text, " 2 roles ")) << text;
  EXPECT_EQ(cluster::cluster_json("h:1", status)["jobs"].size(), 8u);
  EXPECT_EQ(cluster::cluster_json("h:1", status)["nodes"][0]["roles"][1],
            (json{{"job", "job-8"}, {"role", "stages 0"}}));
}

TEST(TopView, AnIdleNodeIsNotCountedAsOneOfTheLiving) {
  cluster::ListNodesResponse status = shown_training();
  status.mutable_nodes(2)->set_state("idle");
  const auto frame = top_frame("h:1", status, {.columns = 200, .rows = 40});
  EXPECT_TRUE(screen_has(screen_text(frame), "3 nodes, 2 alive")) << screen_text(frame);
  EXPECT_EQ(frame.back().emphasis, Emphasis::warning);
}

}  // namespace
}  // namespace mangrove::cli
