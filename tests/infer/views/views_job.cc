#include "tests/infer/views/views_job.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "mangrove/graph/onnx.h"
#include "mangrove/graph/views.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::infer {

using nlohmann::json;

Graph ddnn(const std::string& fusions) {
  return zoo::build_model("ddnn-" + std::to_string(kViews) + "-" + fusions, {}).value();
}

InferJob views_job(const Graph& graph, const std::vector<float>& thresholds) {
  InferJob job = small_job(kSamples, 0);
  job.set_model(encode_onnx(graph));
  job.set_strategy("views");
  job.set_answer_timeout_s(2);
  job.mutable_exit_thresholds()->Add(thresholds.begin(), thresholds.end());
  return job;
}

RoleWorld::Outcome infer_views(const InferJob& job, int nodes, const std::function<void(RoleWorld&)>& prepare) {
  RoleWorld world(nodes + 1);
  world.use_virtual_time(0.001);
  world.cancel_at_end();
  prepare(world);
  return infer(job, world);
}

const AllLeft& OnOneDevice::without(const std::set<int>& lost) {
  const auto [entry, is_new] = all_.try_emplace(lost);
  std::string text;
  for (const int view : lost) text += (text.empty() ? "" : ",") + std::to_string(view);
  if (is_new) entry->second = on_one_device(without_views(graph_, text).value(), thresholds_);
  return entry->second;
}

namespace {

struct Answered {
  Left left;
  std::set<int> lost;  // the views that the line says
};

/// By image. Each was answered once.
std::vector<Answered> answers_of(const RoleWorld::Outcome& outcome, const std::string& where) {
  EXPECT_TRUE(outcome.leader.ok()) << where << ": " << outcome.leader.error().message;
  std::vector<Answered> all(kSamples);
  if (!outcome.leader.ok()) return all;
  std::vector<int> answers(kSamples);
  for (const Report& report : outcome.of_kind("view_answers")) {
    const json line = json::parse(report.json);
    for (std::size_t i = 0; i < line["images"].size(); ++i) {
      const auto image = line["images"][i].get<std::size_t>();
      ++answers[image];
      all[image] = {{line["exits"][i].get<std::size_t>() - 1, line["classes"][i].get<std::int32_t>()},
                    line["lost_views"].get<std::set<int>>()};
    }
  }
  EXPECT_EQ(answers, std::vector<int>(kSamples, 1)) << where;
  const json result = json::parse(outcome.result());
  EXPECT_EQ(result["lost"], 0) << where;
  EXPECT_EQ(result["duplicated"], 0) << where;
  return all;
}

}  // namespace

std::set<int> expect_right(const RoleWorld::Outcome& outcome, OnOneDevice& network, const std::string& where) {
  std::set<int> lost;
  std::map<int, std::set<std::size_t>> batches;  // without each view
  const std::vector<Answered> all = answers_of(outcome, where);
  for (std::size_t image = 0; image < all.size(); ++image) {
    EXPECT_EQ(all[image].left, network.without(all[image].lost)[image]) << where << ", image " << image;
    lost.insert(all[image].lost.begin(), all[image].lost.end());
    for (const int view : all[image].lost) batches[view].insert(image / kBatch4);
  }
  if (!outcome.leader.ok()) return lost;
  const json result = json::parse(outcome.result());
  EXPECT_EQ(result["views"].size(), static_cast<std::size_t>(kViews)) << where;
  for (const json& view : result["views"]) {
    EXPECT_EQ(view["micro_batches_without"], batches[view["view"]].size()) << where << view;
    if (view["lost"].get<bool>()) {
      EXPECT_TRUE(outcome.has_event("\"view_lost\",\"view\":" + view["view"].dump())) << where;
    }
  }
  return lost;
}

}  // namespace mangrove::infer
