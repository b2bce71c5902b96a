// Watching a cluster from the command line: top, report, and the samples that runs leave.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/base/temporary_folder.h"
#include "tests/cli/html_check.h"
#include "tests/cli/on_a_terminal.h"
#include "tests/cli/process.h"

#include "mangrove/base/clock.h"
#include "mangrove/base/file.h"

namespace mangrove {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::OnATerminal;
using testing::problem_of;
using testing::Process;
using testing::program;
using testing::run_program;
using testing::TemporaryFolder;

constexpr Seconds kWatchingLong = 200;

std::vector<json> lines_of(const fs::path& file) {
  std::vector<json> lines;
  std::istringstream text(*read_file(file));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line, nullptr, false));
  return lines;
}

/// The address in "... mangrove top --coordinator HOST:PORT".
std::string told_address(const std::string& said) {
  const std::string before = "mangrove top --coordinator ";
  const std::size_t at = said.find(before);
  if (at == std::string::npos || said.find('\n', at) == std::string::npos) return {};
  return said.substr(at + before.size(), said.find('\n', at) - at - before.size());
}

struct Watching : ::testing::Test {
  TemporaryFolder folder;
  fs::path run_dir = folder / "run";

  std::vector<std::string> training(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {program(), "train",  "--model",   "lenet",
                                          "--data",  "glyphs", "--run-dir", run_dir.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

void expect_sane(const json& sample, int cores) {
  EXPECT_GE(sample["time_s"], 0);
  EXPECT_GE(sample["cpu_percent"], 0);
  EXPECT_LE(sample["cpu_percent"], 100 * cores + 50);
  EXPECT_LE(sample["core_percent"].size(), static_cast<std::size_t>(cores));
  EXPECT_GT(sample["rss_bytes"], 5'000'000);
  EXPECT_GE(sample["minor_faults"], 0);
  std::int64_t sent = 0;
  for (const json& flow : sample["traffic"]) sent += flow["sent_bytes"].get<std::int64_t>();
  EXPECT_EQ(sent, sample["sent_bytes"]) << "every byte has a peer and a purpose";
}

TEST_F(Watching, ARunLeavesSamplesOfAllNodesAndTheirReport) {
  const Finished run = run_program(training({"--local", "3", "--limit", "6000", "--json"}), kWatchingLong);
  ASSERT_EQ(run.status, 0) << run.err;
  std::map<std::string, json> last;
  for (const json& line : lines_of(run_dir / "metrics.jsonl")) {
    ASSERT_TRUE(line.is_object());
    EXPECT_NE(line["kind"], "nodes");
    if (line["kind"] != "sample") continue;
    expect_sane(line, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
    last[line["node"]] = line;
  }
  ASSERT_EQ(last.size(), 3u);
  for (const auto& [name, sample] : last) {
    std::map<std::string, json> by_purpose;
    for (const json& flow : sample["traffic"]) {
      EXPECT_EQ(flow["peer"], "coordinator") << "workers have nothing to say to each other";
      by_purpose[flow["purpose"]] = flow;
    }
    EXPECT_GT(by_purpose["parameters"]["received_bytes"], 25 * 4 * 431080) << "a step at a time";
    EXPECT_GT(by_purpose["gradients"]["sent_bytes"], 25 * 4 * 431080);
    EXPECT_GT(by_purpose["control"]["sent_bytes"], 0);
    const json& steps = sample["steps"];
    EXPECT_GE(steps["count"], 6000 * 95 / 100 / 64 / 3 - 1);
    EXPECT_GT(steps["compute_s"], 0);
    EXPECT_GT(steps["encode_s"], 0);
    EXPECT_GT(steps["load_s"], 0);
    double all = 0;
    for (const char* phase : {"load_s", "compute_s", "encode_s", "wire_s", "wait_s"}) all += steps[phase].get<double>();
    EXPECT_LT(all, sample["time_s"].get<double>() + 1) << "a step's parts do not overlap";
  }
  const fs::path page_file = folder / "page.html";
  const Finished report = run_program({program(), "report", run_dir.string(), "-o", page_file.string(), "--json"});
  ASSERT_EQ(report.status, 0) << report.err;
  EXPECT_EQ(json::parse(report.out)["report"], page_file.string());
  const std::string page = *read_file(page_file);
  EXPECT_EQ(problem_of(page), "");
  for (const char* text : {"lenet on glyphs", "test accuracy", "Loss", "node-1", "node-2", "node-3", "Training steps"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos) << "it needs no other file";
  EXPECT_EQ(*read_file(run_dir / "report.html"), page) << "which the run has left itself";
}

TEST_F(Watching, ARunThatGoesOnIsShownAndReported) {
  Process run(training({"--local", "2", "--epochs", "100"}));
  ASSERT_TRUE(run.wait_until([&] { return !told_address(run.err()).empty(); }, kWatchingLong)) << run.err();
  const std::string address = told_address(run.err());
  json top;
  const SteadyClock clock;
  for (const Deadline deadline = clock.after(kWatchingLong); clock.now() < deadline;) {
    const Finished asked = run_program({program(), "top", "--coordinator", address, "--json"});
    ASSERT_EQ(asked.status, 0) << asked.err;
    top = json::parse(asked.out);
    if (!top["jobs"].empty() && top["nodes"][1]["steps"]["count"] > 0 && fs::exists(run_dir / "metrics.jsonl")) break;
  }
  EXPECT_EQ(top["jobs"][0]["kind"], "train");
  ASSERT_EQ(top["nodes"].size(), 2u);
  for (const json& node : top["nodes"]) {
    EXPECT_EQ(node["state"], "alive");
    EXPECT_LT(node["heartbeat_age_s"], 5);
    EXPECT_GT(node["rss_bytes"], 5'000'000);
  }
  EXPECT_EQ(top["nodes"][0]["roles"][0]["role"], "worker 1");
  const Finished once = run_program({program(), "top", "--coordinator", address, "--once"});
  EXPECT_EQ(once.status, 0);
  EXPECT_NE(once.out.find("node-2"), std::string::npos) << once.out;
  EXPECT_NE(once.out.find("2 nodes, 2 alive"), std::string::npos);
  EXPECT_EQ(once.out.find('\x1b'), std::string::npos) << "no terminal, no escapes";

  const Finished report = run_program({program(), "report", run_dir.string()});
  EXPECT_EQ(report.status, 0) << report.err;
  const std::string page = *read_file(run_dir / "report.html");
  EXPECT_EQ(problem_of(page), "");
  EXPECT_NE(page.find("The run has not ended"), std::string::npos);
  EXPECT_NE(page.find("lenet on glyphs"), std::string::npos);
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(kWatchingLong), 130);
}

TEST_F(Watching, TopDrawsOnATerminalAndRestoresIt) {
  Process coordinator({program(), "coordinator", "--listen", "127.0.0.1:0", "--state", "none"});
  ASSERT_TRUE(coordinator.wait_until([&] { return coordinator.out().ends_with("\n"); }, kWatchingLong));
  const std::string ready = coordinator.out();
  std::string address = ready.substr(ready.rfind(' ') + 1);
  address.pop_back();
  Process node({program(), "node", "--coordinator", address, "--listen", "127.0.0.1:0", "--name", "watched"});
  ASSERT_TRUE(node.wait_until([&] { return node.out().ends_with("\n"); }, kWatchingLong)) << node.err();

  OnATerminal top({program(), "top", "--coordinator", address});
  ASSERT_TRUE(top.shows("\x1b[?1049h")) << top.shown();
  EXPECT_TRUE(top.shows("watched"));
  EXPECT_TRUE(top.shows("no job runs"));
  node.signal(SIGTERM);
  EXPECT_TRUE(top.shows("1 node, 0 alive")) << "it goes on drawing";
  top.type('\x03');
  EXPECT_TRUE(top.shows("\x1b[?1049l")) << "the screen is as before";
  EXPECT_EQ(top.wait(), 0);

  OnATerminal other({program(), "top", "--coordinator", address});
  ASSERT_TRUE(other.shows("0 alive")) << other.shown();
  other.resize(60, 20);
  ASSERT_TRUE(other.shows("0 alive")) << "it is drawn anew";
  other.type('x');
  other.type('q');
  EXPECT_TRUE(other.shows("\x1b[?1049l")) << "q ends it too";
  EXPECT_EQ(other.wait(), 0);
}

TEST_F(Watching, ReportsOfWhatIsNoRunAreClearErrors) {
  const auto report = [&] { return run_program({program(), "report", run_dir.string()}); };
  const auto write = [&](const std::string& name, const std::string& text) { std::ofstream(run_dir / name) << text; };
  EXPECT_EQ(report().status, 2);
  EXPECT_NE(report().err.find("no such run folder"), std::string::npos);
  fs::create_directory(run_dir);
  EXPECT_EQ(report().status, 2);
  EXPECT_NE(report().err.find("metrics.jsonl"), std::string::npos);
  write("metrics.jsonl", "not JSON\n");
  EXPECT_EQ(report().status, 1);
  EXPECT_NE(report().err.find("no line is a JSON object"), std::string::npos);
  EXPECT_FALSE(fs::exists(run_dir / "report.html"));

  write("metrics.jsonl", "{\"kind\":\"progress\"}\n{\"kind\":\"pro");  // killed while it wrote
  EXPECT_EQ(report().status, 0) << report().err;
  EXPECT_NE(report().err.find("lines=1"), std::string::npos) << report().err;
  EXPECT_NE(read_file(run_dir / "report.html")->find("<h1>run</h1>"), std::string::npos) << "no settings: its own name";
  write("summary.json", "[");
  EXPECT_EQ(report().status, 1);
  EXPECT_NE(report().err.find("summary.json"), std::string::npos);
  fs::remove(run_dir / "summary.json");
  write("job.yaml", "train:\n  epochz: 3\n");
  EXPECT_EQ(report().status, 2);
  EXPECT_NE(report().err.find("epochz"), std::string::npos) << report().err;
}

TEST_F(Watching, TopOfNobodyIsAnError) {
  const Finished top = run_program({program(), "top", "--coordinator", "127.0.0.1:1", "--once"});
  EXPECT_EQ(top.status, 1);
  EXPECT_NE(top.err.find("127.0.0.1:1"), std::string::npos);
}

}  // namespace
}  // namespace mangrove
