// `mangrove report` of what the other commands leave. Reports of training are in watching_test.cc.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/html_check.h"
#include "tests/cli/process.h"

#include "mangrove/base/file.h"
#include "mangrove/base/format.h"

namespace mangrove::testing {
namespace {

using nlohmann::json;

const std::string kExamples = repository_path("examples");

Finished mangrove_report(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program());
  return run_program(std::move(arguments), 200);
}

struct ReportCommand : ::testing::Test {
  TemporaryFolder folder;

  std::string path(const std::string& name) const { return (folder / name).string(); }

  json result_of(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--quiet", "--json"});
    const Finished run = mangrove_report(std::move(arguments));
    EXPECT_EQ(run.status, 0) << run.err;
    return json::parse(run.out, nullptr, false);
  }

  /// Checks that it is well-formed, and needs nothing else.
  std::string page_of(const std::vector<std::string>& reported, const std::string& name) {
    std::vector<std::string> arguments = {"report", "-o", path(name)};
    arguments.insert(arguments.end(), reported.begin(), reported.end());
    const Finished report = mangrove_report(std::move(arguments));
    EXPECT_EQ(report.status, 0) << report.err;
    const auto page = read_file(path(name));
    EXPECT_TRUE(page.ok());
    if (!page.ok()) return "";
    EXPECT_EQ(problem_of(*page), "");
    EXPECT_EQ(page->find("<script"), std::string::npos);
    EXPECT_EQ(page->find("http"), std::string::npos);
    return *page;
  }

  static void expect_texts(const std::string& page, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) EXPECT_NE(page.find(text), std::string::npos) << text;
  }
};

TEST_F(ReportCommand, OfSimulatedRunsShowsTheirWorldsAndComparesThem) {
  const auto simulate = [&](const std::string& job, const std::string& to, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"sim", kExamples + "/worlds/boards.yaml", kExamples + "/worlds/" + job,
                                          "--run-dir", path(to)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return result_of(std::move(arguments));
  };
  const json trained = simulate("job.yaml", "trained", {"--limit", "256", "--fault-seed", "3", "--fault-window", "1s"});
  const std::string training = page_of({path("trained")}, "trained.html");
  expect_texts(training, {"The virtual world", "pi-4", "8 GFLOP/s", "Messages that arrived, by purpose", "Faults",
                          format_percent(trained["accuracy"].get<double>()), ">gradients<"});

  const std::string model = path("trained/model.onnx");
  const json three = simulate("infer-job.yaml", "three", {"--model", model});
  const std::string pipeline = page_of({path("three")}, "three.html");
  expect_texts(pipeline, {"The network over the nodes", "stage 3", "The virtual world",
                          "<dd>" + format_number(three["images_per_s"].get<double>()) + "</dd>",
                          "<dd>" + format_percent(three["accuracy"].get<double>()) + "</dd>",
                          three["stages"][2]["node"].get<std::string>(), "Speed"});

  const json two = simulate("infer-job.yaml", "two", {"--model", model, "--stages", "2"});
  const std::string both = page_of({path("three"), path("two")}, "both.html");
  const std::string accuracy = format_percent(three["accuracy"].get<double>());
  expect_texts(both, {"2 runs side by side", ">three</th>", ">two</th>", "<td>stages</td><td>3</td><td>2</td>",
                      "<td>accuracy</td><td>" + accuracy + "</td><td>" + accuracy + "</td>"});
  EXPECT_NE(both.find(format_number(two["images_per_s"].get<double>())), std::string::npos);
  EXPECT_EQ(both.find("<td>micro_batch</td>"), std::string::npos) << "which both have alike";
}

TEST_F(ReportCommand, OfInferenceOnNodesShowsWhoAnsweredWhat) {
  std::ofstream(path("tiers.yaml")) << "trusted: true\nend:\n  count: 2\n  model: mlp-8\n  labels: coarse\n"
                                       "cloud:\n  count: 1\n  model: mlp-16\n  labels: fine\n";
  const json tiers = result_of({"infer", "--tiers", path("tiers.yaml"), "--data", "glyphs", "--limit", "1000",
                                "--micro-batch", "50", "--run-dir", path("tiers")});
  const std::string page = page_of({path("tiers")}, "tiers.html");
  expect_texts(page, {"Answers by tier", "Latency by tier", "Tasks without an answer yet", "end, 2 devices",
                      "cloud, 1 device", format_percent(tiers["tiers"][0]["accuracy"].get<double>()) + " right",
                      "20 tasks: 1,000 images", "<h3>Devices</h3>", "CPU"});
  EXPECT_EQ(*read_file(folder / "tiers/report.html"), page) << "which the run has left itself";
  EXPECT_NE(read_file(folder / "tiers/job.yaml")->find("micro_batch: 50"), std::string::npos);
  std::ofstream(path("result.json")) << tiers.dump();
  expect_texts(page_of({path("result.json")}, "result.html"), {"end, 2 devices", "cloud, 1 device"});
}

TEST_F(ReportCommand, OfAPlanShowsItsPrediction) {
  result_of({"profile", "lenet", "--batch", "4", "--seconds", "0.05", "--data-dir", path("data"), "--output",
             path("lenet.yaml")});
  const json plan = result_of({"plan", "--model", "lenet", "--profile", path("lenet.yaml"), "--devices",
                               kExamples + "/plan/boards.yaml", "--replicas", "1"});
  EXPECT_EQ(plan["devices"].size(), 6u);
  EXPECT_EQ(plan["devices"][0]["rate"], 12.5e6);
  std::ofstream(path("plan.json")) << plan.dump(1);
  const std::string page = page_of({path("plan.json")}, "plan.html");
  expect_texts(page, {"A plan for lenet", "<dd>" + format_number(plan["samples_per_s"].get<double>()) + "</dd>",
                      "pi4-1", "100 Mbit/s", "Other plans", "predicted"});
  EXPECT_EQ(mangrove_report({"report", path("plan.json")}).status, 0);
  EXPECT_EQ(*read_file(folder / "plan.html"), page) << "beside it, unless the user says where";
  expect_texts(page_of({kExamples + "/worlds/global.yaml"}, "world.html"), {"50 × phone", "europe"});
}

TEST_F(ReportCommand, SaysWhatIsWrong) {
  const auto error_of = [&](const std::vector<std::string>& reported, int status) {
    std::vector<std::string> arguments = {"report", "-o", path("none.html")};
    arguments.insert(arguments.end(), reported.begin(), reported.end());
    const Finished run = mangrove_report(std::move(arguments));
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_FALSE(fs::exists(path("none.html")));
    return run.err;
  };
  std::ofstream(path("broken.json")) << "{\"stages\": [],\n \"period_s\" 3}\n";
  std::ofstream(path("other.json")) << "{\"nodes\": []}\n";
  std::ofstream(path("world.yaml")) << "pi:\n  cpu: 1\n";
  EXPECT_NE(error_of({path("broken.json")}, 1).find("broken.json:2: expected a JSON object"), std::string::npos);
  EXPECT_NE(error_of({path("other.json")}, 1).find("neither a plan"), std::string::npos);
  EXPECT_NE(error_of({path("world.yaml")}, 2).find("world.yaml:2: unknown key 'cpu'"), std::string::npos);
  EXPECT_NE(error_of({path("none")}, 2).find("none: no such run folder"), std::string::npos);
  fs::create_directory(path("run"));
  std::ofstream(path("run/metrics.jsonl")) << "{\"kind\":\"progress\"}\n";
  EXPECT_NE(error_of({path("run"), path("other.json")}, 2).find("only run folders"), std::string::npos);
  EXPECT_NE(error_of(std::vector<std::string>(11, path("run")), 2).find("at most 10 runs"), std::string::npos);
  EXPECT_NE(error_of({path("run"), path("none")}, 2).find("none: no such run folder"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::testing
