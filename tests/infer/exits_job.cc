#include "tests/infer/exits_job.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mangrove/data/dataset.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/early_exit.h"
#include "mangrove/infer/networks.h"

namespace mangrove::infer {

using nlohmann::json;

Graph exits_graph() {
  GraphParts parts;
  parts.name = "exits";
  parts.inputs = {{"input", {DType::f32, {kBatch, 1, 28, 28}}}};
  parts.outputs = {"e1", "e2", "e3"};
  const std::map<std::string, Attribute> transposed = {{"transB", std::int64_t{1}}};
  parts.nodes = {{"flatten", "Flatten", {}, {"input"}, {"f"}},
                 {"fc1", "Gemm", transposed, {"f", "w1"}, {"h1"}},
                 {"tanh", "Tanh", {}, {"h1"}, {"a"}},
                 {"exit1", "Gemm", transposed, {"a", "x1"}, {"e1"}},
                 {"fc2", "Gemm", transposed, {"a", "w2"}, {"c"}},
                 {"tanh2", "Tanh", {}, {"c"}, {"d"}},
                 {"exit2", "Gemm", transposed, {"d", "x2"}, {"e2"}},
                 {"add", "Add", {}, {"d", "a"}, {"s"}},
                 {"exit3", "Gemm", transposed, {"s", "x3"}, {"e3"}}};
  parts.initializers = {{"w1", random_tensor({12, 784}, 0.1, 1)},
                        {"w2", random_tensor({12, 12}, 0.6, 2)},
                        {"x1", random_tensor({10, 12}, 1, 3)},
                        {"x2", random_tensor({10, 12}, 1, 4)},
                        {"x3", random_tensor({10, 12}, 1, 5)}};
  return Graph::create(std::move(parts)).value();
}

InferJob exits_job(const std::string& scheduler, const std::string& policy, const std::vector<float>& thresholds,
                   int on_end) {
  InferJob job = small_job(kSamples, 0);
  job.clear_model();
  job.set_strategy("tiers");
  job.set_scheduler(scheduler);
  job.set_policy(policy);
  job.set_answer_timeout_s(2);
  job.mutable_exit_thresholds()->Add(thresholds.begin(), thresholds.end());
  const struct {
    const char* name;
    int devices;
    Seconds delay;
  } parts[] = {{"end", 2, 0}, {"edge", 1, 0.5}, {"cloud", 1, 1}};
  for (const auto& [name, devices, delay] : parts) {
    TierPart& part = *job.add_tiers();
    part.set_name(name);
    part.set_devices(devices);
    part.set_delay_s(delay);
    part.set_trusted(true);
    job.add_members(encode_onnx(exits_graph()));
  }
  job.mutable_tiers(0)->set_exits(on_end);
  return job;
}

AllLeft on_one_device(const std::vector<float>& thresholds, std::vector<std::vector<float>>* entropies) {
  const auto dataset = *data::open_dataset("glyphs", data::Split::test, {});
  const auto network =
      EarlyExit::create(exits_graph(), thresholds, {.micro_batch = kBatch4, .backend = "portable"}).value();
  AllLeft all;
  for (std::int64_t begin = 0; begin < kSamples; begin += kBatch4) {
    const std::int64_t count = std::min(kBatch4, kSamples - begin);
    std::vector<float> samples(static_cast<std::size_t>(count * 784));
    for (std::int64_t i = 0; i < count; ++i)
      EXPECT_TRUE(dataset
                      ->read(static_cast<std::uint32_t>(begin + i),
                             std::span(samples).subspan(static_cast<std::size_t>(i) * 784, 784))
                      .ok());
    const std::span<const EarlyExit::Answer> answers = network->classify(count, samples).value();
    for (const EarlyExit::Answer& answer : answers)
      all.push_back({static_cast<std::size_t>(answer.exit), answer.predicted});
    if (entropies == nullptr) continue;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const auto of = network->entropies().subspan(i * network->exits(), network->exits());
      entropies->emplace_back(of.begin(), of.end());
    }
  }
  return all;
}

std::vector<float> middle_thresholds() {
  std::vector<std::vector<float>> entropies;
  on_one_device({0, 0}, &entropies);
  std::vector<float> thresholds;
  for (std::size_t exit = 0; exit < 2; ++exit) {
    std::vector<float> here;
    for (const auto& of : entropies) here.push_back(of[exit]);
    std::ranges::sort(here);
    thresholds.push_back((here[here.size() / 2 - 1] + here[here.size() / 2]) / 2);
  }
  return thresholds;
}

RoleWorld::Outcome run_exits(const InferJob& job, const std::function<void(RoleWorld&)>& prepare,
                             const std::map<net::Rank, std::string>& other_data) {
  RoleWorld world(kRanks);
  world.use_virtual_time(0.001);
  world.cancel_at_end();
  prepare(world);
  return world.run([&](net::RoleContext& context) {
    InferJob given = context.endpoint.rank() == 0 ? job : without_networks(job);
    const auto other = other_data.find(context.endpoint.rank());
    if (other != other_data.end()) given.set_data(other->second);
    return run_evenly(given, context);
  });
}

AllLeft last_answers(const RoleWorld::Outcome& outcome, const std::string& where) {
  EXPECT_TRUE(outcome.leader.ok()) << where << ": " << outcome.leader.error().message;
  AllLeft all(kSamples);
  if (!outcome.leader.ok()) return all;
  std::vector<int> firsts(kSamples), seconds(kSamples), stayed(kSamples);
  for (const Report& report : outcome.of_kind("tier_answers")) {
    const json line = json::parse(report.json);
    const bool is_first = line["answer"] == "first";
    EXPECT_EQ(line["images"].size(), line["classes"].size());
    for (std::size_t i = 0; i < line["images"].size(); ++i) {
      const auto image = line["images"][i].get<std::size_t>();
      ++(is_first ? firsts : seconds)[image];
      const json& exit = line["exits"][i];
      if (exit.is_null()) {
        stayed[image] = 1;
      } else {
        all[image] = {exit.get<std::size_t>() - 1, line["classes"][i].get<std::int32_t>()};
      }
    }
  }
  EXPECT_EQ(firsts, std::vector<int>(kSamples, 1)) << where;
  EXPECT_EQ(seconds, stayed) << where;
  const json result = json::parse(outcome.result());
  EXPECT_EQ(result["lost"], 0) << where;
  EXPECT_EQ(result["duplicated"], 0) << where;
  return all;
}

json tier(const json& result, const std::string& name) {
  for (const json& tier : result["tiers"])
    if (tier["tier"] == name) return tier;
  return {};
}

}  // namespace mangrove::infer
