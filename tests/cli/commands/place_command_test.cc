#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/temporary_folder.h"
#include "tests/cli/html_check.h"
#include "tests/cli/process.h"
#include "tests/paths.h"

#include "mangrove/base/file.h"

namespace mangrove::testing {
namespace {

using nlohmann::json;

const std::string kFarm = repository_path("examples/placement/tomato-farm.yaml");

Finished mangrove_place(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {program(), "place"});
  return run_program(std::move(arguments));
}

TEST(PlaceCommand, PlacesAndProves) {
  const TemporaryFolder folder;
  const Finished run =
      mangrove_place({kFarm, "--objective", "energy", "--compare", "--json", "--picture", folder / "farm.svg"});
  ASSERT_EQ(run.status, 0) << run.err;
  const json report = json::parse(run.out);
  EXPECT_EQ(report["outcome"], "optimal");
  EXPECT_EQ(report["gap"], 0);
  EXPECT_EQ(report["all_devices"], 12);
  EXPECT_EQ(report["devices_used"], report["devices"].size());
  EXPECT_EQ(report["placement"].size(), 47u);  // the climate's decision twice
  EXPECT_EQ(report["value"], report["watts"]);
  for (const json& service : report["services"])
    EXPECT_TRUE(service["deadline_s"].is_null() || service["worst_latency_s"] <= service["deadline_s"]) << service;
  ASSERT_EQ(report["comparison"].size(), 6u);
  for (const json& other : report["comparison"])
    EXPECT_TRUE(other["value"].is_null() || other["value"] >= report["value"].get<double>() - 1e-6) << other;
  EXPECT_NE(run.err.find("proven to be the best"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("Comparison of solvers"), std::string::npos);
  const auto picture = read_file(folder / "farm.svg");
  ASSERT_TRUE(picture.ok());
  EXPECT_EQ(problem_of(*picture), "");
  EXPECT_NE(picture->find("zone farm"), std::string::npos);
}

TEST(PlaceCommand, SaysWhyThereIsNone) {
  const TemporaryFolder folder;
  const std::string path = folder / "late.yaml";
  ASSERT_TRUE(
      write_file_atomically(path, "device a: {flops: 1e9}\nservice s: {deadline: 1s}\ntask s/t: {operations: 2e9}\n")
          .ok());
  const Finished run = mangrove_place({path, "--json"});
  EXPECT_EQ(run.status, 1);
  const json report = json::parse(run.out);
  EXPECT_EQ(report["outcome"], "infeasible");
  EXPECT_EQ(report["why"], "s/t can be on no device: it would load it with 200 %, above 100 % (1 device)");
}

TEST(PlaceCommand, PlacesAnewWithFewMoves) {
  const TemporaryFolder folder;
  const auto scenario = [&](const std::string& name, const std::string& price) {
    std::string path = folder / name;
    EXPECT_TRUE(write_file_atomically(path, "device a: {price: 1}\ndevice b: {price: " + price +
                                                "}\nservice s: {}\ntask s/x: {}\ntask s/y: {}\n")
                    .ok());
    return path;
  };
  const Finished first = mangrove_place({scenario("first.yaml", "2"), "--json"});
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_TRUE(json::parse(first.out)["moves"].is_null());
  const std::string previous = folder / "previous.json";
  ASSERT_TRUE(write_file_atomically(previous, first.out).ok());
  const auto anew = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{scenario("second.yaml", "0.5"), "--previous", previous, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished run = mangrove_place(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return json::parse(run.out);
  };
  EXPECT_EQ(anew({})["moves"], 2);
  EXPECT_EQ(anew({"--most-moves", "1"})["moves"], 0);  // one alone is no gain
  EXPECT_EQ(anew({"--objective", "cost+0.2*moves"})["moves"], 2);
  EXPECT_EQ(anew({"--objective", "cost+0.3*moves"})["moves"], 0);
  const Finished lonely = mangrove_place({kFarm, "--most-moves", "1"});
  EXPECT_EQ(lonely.status, 2);
  EXPECT_NE(lonely.err.find("give --previous too"), std::string::npos) << lonely.err;
  ASSERT_TRUE(write_file_atomically(previous, R"({"placement": [{"service": 3}]})").ok());
  const Finished wrong = mangrove_place({kFarm, "--previous", previous});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("placement: 0: service"), std::string::npos) << wrong.err;
}

TEST(PlaceCommand, RefusesWhatItDoesNotKnow) {
  const auto error = [](std::vector<std::string> arguments) {
    const Finished run = mangrove_place(std::move(arguments));
    EXPECT_EQ(run.status, 2) << run.err;
    return run.err;
  };
  EXPECT_NE(error({kFarm, "--solver", "gredy"}).find("did you mean 'greedy'?"), std::string::npos);
  EXPECT_NE(error({kFarm, "--objective", "cost,latancy"}).find("did you mean 'latency'?"), std::string::npos);
  EXPECT_NE(error({kFarm, "--objective", "0*cost"}).find("--objective"), std::string::npos);
  EXPECT_NE(error({kFarm, "--picture", "farm.png"}).find("does not end in .svg"), std::string::npos);
  EXPECT_NE(error({"no-such.yaml"}).find("no-such.yaml"), std::string::npos);
}

}  // namespace
}  // namespace mangrove::testing
