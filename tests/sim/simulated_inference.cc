#include "tests/sim/simulated_inference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "tests/infer/tiles/tile_job.h"
#include "tests/infer/views/views_job.h"
#include "tests/sim/in_child.h"

#include "mangrove/infer/strategy.h"
#include "mangrove/sim/simgrid/simulate.h"

namespace mangrove::sim {
namespace {

using infer::kSamples;
using nlohmann::json;

constexpr Seconds kLimit = 3600;  // of virtual time: nothing hangs

Device slow_device(const std::string& name) {
  return {.name = name, .flops = 1e6, .up = 125e3, .down = 125e3, .line = {.delay = 0.01, .jitter = 0.005}};
}

World tier_world() {
  return slow_world({"end-1", "end-2", "edge-1", "cloud-1"});
}

/// The others get more time than a micro-batch takes.
infer::InferJob patient(infer::InferJob job) {
  job.set_answer_timeout_s(4);
  return job;
}

infer::InferJob pipeline_job() {
  return patient(infer::small_job(kSamples, 3));
}

infer::InferJob single_job() {
  infer::InferJob job = infer::small_job(kSamples, 0);
  job.set_strategy("single");
  return patient(job);
}

infer::InferJob one_vs_rest_job() {
  const char* const first = R"(["0","1","2","3","rest","rest","rest","rest","rest","rest"])";
  const char* const second = R"(["r","r","r","r","4","5","6","7","8","9"])";
  return patient(
      infer::ensemble_job("ensemble", kSamples, {infer::ensemble_member(first), infer::ensemble_member(second)}));
}

infer::InferJob averaging_job() {
  const std::string all = infer::ensemble_member(infer::kAllGlyphs);
  return patient(infer::ensemble_job("averaging", kSamples, {all, infer::ensemble_member(infer::kAllGlyphs, 3), all}));
}

infer::InferJob tiers_job() {
  return patient(infer::exits_job("auto", "hedged", infer::middle_thresholds()));
}

infer::InferJob levels_job() {
  return patient(infer::levels_job("monitor", infer::middle_thresholds()));
}

infer::InferJob even_grid_job() {
  return patient(infer::tiles_job(kSamples, "even_grid"));
}

infer::InferJob strips_job() {
  return patient(infer::tiles_job(kSamples, "biased_strips"));
}

infer::InferJob views_job() {
  const Graph graph = infer::ddnn();
  return patient(infer::views_job(graph, infer::middle_thresholds(graph)));
}

void expect_agreement(const RoleWorld::Outcome& outcome, const std::string& where) {
  infer::expect_exact(outcome, kSamples, where);
}

/// What small_graph() answers.
void expect_like_alone(const RoleWorld::Outcome& outcome, const std::string& where) {
  static const std::string alone = [] {
    infer::InferJob job = infer::small_job(kSamples, 0);
    job.set_strategy("single");
    return simulated(job, slow_boards(1)).outcome.result();
  }();
  EXPECT_EQ(json_number(outcome.result(), "images"), kSamples) << where;
  for (const char* key : {"accuracy", "macro_f1"})
    EXPECT_DOUBLE_EQ(json_number(outcome.result(), key), json_number(alone, key)) << where << key;
}

void expect_exits(const RoleWorld::Outcome& outcome, const std::string& where) {
  static const infer::AllLeft expected = infer::on_one_device(infer::middle_thresholds());
  EXPECT_EQ(infer::last_answers(outcome, where), expected) << where;
}

void expect_views(const RoleWorld::Outcome& outcome, const std::string& where) {
  static infer::OnOneDevice network(infer::ddnn(), infer::middle_thresholds(infer::ddnn()));
  infer::expect_right(outcome, network, where);
}

std::ptrdiff_t count(const std::vector<std::string>& lost, const std::string& kind) {
  return std::ranges::count_if(lost, [&](const std::string& name) { return name.starts_with(kind); });
}

bool all_boards(const std::vector<std::string>& lost) {
  return count(lost, "board") == 4;
}

bool a_whole_tier(const std::vector<std::string>& lost) {
  return count(lost, "end") == 2 || count(lost, "edge") == 1 || count(lost, "cloud") == 1;
}

bool all_views(const std::vector<std::string>& lost) {
  return count(lost, "view") == infer::kViews;
}

/// These, and a case for each row of the table with one network whose code none of them runs.
std::vector<InferenceCase> with_new_rows(std::vector<InferenceCase> cases) {
  std::set<decltype(infer::Strategy::run)> covered;
  for (const InferenceCase& one : cases) covered.insert(infer::find_strategy(one.job().strategy()).value()->run);
  for (const infer::Strategy& row : infer::strategies()) {
    if (row.networks != infer::Networks::one || !covered.insert(row.run).second) continue;
    cases.push_back({std::string(row.name),
                     [&row] {
                       infer::InferJob job = infer::small_job(kSamples, 0);
                       job.set_strategy(std::string(row.name));
                       return patient(job);
                     },
                     [] { return slow_boards(4); }, expect_like_alone, all_boards});
  }
  return cases;
}

}  // namespace

World slow_world(const std::vector<std::string>& names) {
  World world;
  world.regions.push_back({.name = "here", .line = {}});
  world.devices.push_back({.name = "coordinator", .flops = 1e8, .line = {.delay = 1e-4}});
  for (const std::string& name : names) world.devices.push_back(slow_device(name));
  return world;
}

World slow_boards(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= count; ++i) names.push_back("board-" + std::to_string(i));
  return slow_world(names);
}

const std::vector<InferenceCase>& every_inference() {
  const auto boards = [] { return slow_boards(4); };
  const auto views = [] { return slow_world({"view-1", "view-2", "view-3", "view-4", "upper-1", "upper-2"}); };
  static const std::vector<InferenceCase> all = with_new_rows({
      {"single", single_job, boards, expect_like_alone, all_boards},
      {"pipeline", pipeline_job, boards, expect_agreement, all_boards},
      {"ensemble", one_vs_rest_job, boards, expect_like_alone, all_boards},
      {"averaging", averaging_job, boards, expect_like_alone, all_boards},
      {"tiers", tiers_job, tier_world, expect_exits, a_whole_tier},
      {"levels", levels_job, tier_world, expect_exits, a_whole_tier},
      {"even_grid", even_grid_job, boards, expect_agreement, all_boards},
      {"strips", strips_job, boards, expect_agreement, all_boards},
      {"views", views_job, views, expect_views, all_views},
  });
  return all;
}

std::vector<std::string> SimulatedInference::lost() const {
  std::vector<std::string> names;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const json entry = json::parse(line);
    if (entry["event"] == "event" && entry["report"]["event"] == "node_lost")
      names.push_back(entry["report"]["node"].get<std::string>());
  }
  return names;
}

SimulatedInference simulated(const infer::InferJob& infer, const World& world, std::vector<Fault> faults,
                             bool is_modelled) {
  const std::string text = in_child([&] {
    cluster::JobSpec job;
    *job.mutable_infer() = infer;
    json told = {{"reports", json::array()}};
    std::string log;
    SimulationOptions options{.faults = std::move(faults), .limit = kLimit, .is_modelled = is_modelled};
    options.log = [&](std::string_view line) { log += std::string(line) + "\n"; };
    options.report = [&](const Report& report) {
      if (report.kind != ReportKind::nodes && report.kind != ReportKind::progress)
        told["reports"].push_back({static_cast<int>(report.kind), report.json});
    };
    const Status ended = simulate(job, world, std::move(options));
    told["code"] = ended.ok() ? 0 : static_cast<int>(ended.code());
    told["message"] = ended.ok() ? "" : ended.error().message;
    told["log"] = std::move(log);
    return told.dump();
  });
  SimulatedInference run;
  const json told = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!told.is_object()) {
    run.outcome.leader = make_error(Code::internal, "the simulation died");
    return run;
  }
  if (told["code"] != 0)
    run.outcome.leader = make_error(static_cast<Code>(told["code"].get<int>()), told["message"].get<std::string>());
  for (const json& report : told["reports"])
    run.outcome.reports.push_back({*report_kind_of_number(report[0].get<std::int64_t>()), report[1]});
  run.log = told["log"];
  const std::size_t last = run.log.rfind(R"(,"event":"job_ended")");
  const std::size_t begin = last == std::string::npos ? last : run.log.rfind(':', last - 1);
  if (begin != std::string::npos) run.seconds = std::stod(run.log.substr(begin + 1, last - begin - 1));
  return run;
}

}  // namespace mangrove::sim
