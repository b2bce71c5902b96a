#include "tests/infer/tiers/exits_job.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/infer/watched_endpoint.h"

#include "mangrove/data/dataset.h"
#include "mangrove/exits/early_exit.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/infer/networks.h"
#include "mangrove/infer/tags.h"

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

InferJob levels_job(const std::string& policy, const std::vector<float>& thresholds) {
  InferJob job = exits_job("end-edge", policy, thresholds);
  job.mutable_tiers(1)->set_exits(2);
  return job;
}

AllLeft on_one_device(const Graph& graph, const std::vector<float>& thresholds,
                      std::vector<std::vector<float>>* entropies) {
  const auto dataset = *data::open_dataset("glyphs", data::Split::test, {});
  const auto network =
      exits::EarlyExit::create(graph, thresholds, {.micro_batch = kBatch4, .backend = "portable"}).value();
  AllLeft all;
  for (std::int64_t begin = 0; begin < kSamples; begin += kBatch4) {
    const std::int64_t count = std::min(kBatch4, kSamples - begin);
    std::vector<float> samples(static_cast<std::size_t>(count * 784));
    for (std::int64_t i = 0; i < count; ++i)
      EXPECT_TRUE(dataset
                      ->read(static_cast<std::uint32_t>(begin + i),
                             std::span(samples).subspan(static_cast<std::size_t>(i) * 784, 784))
                      .ok());
    const std::span<const exits::EarlyExit::Answer> answers = network->classify(count, samples).value();
    for (const exits::EarlyExit::Answer& answer : answers)
      all.push_back({static_cast<std::size_t>(answer.exit), answer.predicted});
    if (entropies == nullptr) continue;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const auto of = network->entropies().subspan(i * network->exits(), network->exits());
      entropies->emplace_back(of.begin(), of.end());
    }
  }
  return all;
}

AllLeft on_one_device(const std::vector<float>& thresholds) {
  return on_one_device(exits_graph(), thresholds);
}

std::vector<float> middle_thresholds(const Graph& graph) {
  const std::size_t early = graph.outputs().size() - 1;
  std::vector<std::vector<float>> entropies;
  on_one_device(graph, std::vector<float>(early), &entropies);
  std::vector<float> thresholds;
  for (std::size_t exit = 0; exit < early; ++exit) {
    std::vector<float> here;
    for (const auto& of : entropies) here.push_back(of[exit]);
    std::ranges::sort(here);
    thresholds.push_back((here[here.size() / 2 - 1] + here[here.size() / 2]) / 2);
  }
  return thresholds;
}

RoleWorld::Outcome run_exits(const InferJob& job, const std::function<void(RoleWorld&)>& prepare,
                             const std::map<net::Rank, std::string>& other_data) {
  int ranks = 1;
  for (const TierPart& part : job.tiers()) ranks += part.devices();
  RoleWorld world(ranks);
  world.use_virtual_time(0.001);
  world.cancel_at_end();
  prepare(world);
  return world.run([&](job::RoleContext& context) {
    InferJob given = context.endpoint.rank() == 0 ? job : without_networks(job);
    const auto other = other_data.find(context.endpoint.rank());
    if (other != other_data.end()) given.set_data(other->second);
    return run_evenly(given, context);
  });
}

RoleWorld::Outcome run_with_liar(const InferJob& job, net::Rank rank, Answer answer,
                                 const std::function<void(TierAnswer&)>& change, int& changed) {
  const auto lie = [&](net::Rank, net::Tag tag, std::string& payload) {
    FromNode message;
    if (tag != kFromNodeTag || !message.ParseFromString(payload) || !message.has_tier_answer()) return;
    TierAnswer& said = *message.mutable_tier_answer();
    if (said.request() > 0 || said.answer() != static_cast<std::uint32_t>(answer)) return;
    change(said);
    ++changed;
    payload = message.SerializeAsString();
  };
  return run_exits(job, [&](RoleWorld& world) {
    world.replace(rank, [&](job::RoleContext& context) {
      WatchedEndpoint endpoint(context.endpoint);
      endpoint.on_send = lie;
      job::RoleContext lying = with_endpoint(context, endpoint);
      return run_evenly(without_networks(job), lying);
    });
  });
}

AllLeft last_answers(const RoleWorld::Outcome& outcome, const std::string& where) {
  EXPECT_TRUE(outcome.leader.ok()) << where << ": " << outcome.leader.error().message;
  AllLeft all(kSamples);
  if (!outcome.leader.ok()) return all;
  std::map<std::string, std::vector<int>> answers, stayed;  // of each kind, by image
  for (const std::string_view answer : kAnswerNames) {
    answers[std::string(answer)].resize(kSamples);
    stayed[std::string(answer)].resize(kSamples);
  }
  for (const Report& report : outcome.of_kind("tier_answers")) {
    const json line = json::parse(report.json);
    const auto answer = line["answer"].get<std::string>();
    EXPECT_EQ(line["images"].size(), line["classes"].size());
    for (std::size_t i = 0; i < line["images"].size(); ++i) {
      const auto image = line["images"][i].get<std::size_t>();
      ++answers[answer][image];
      const json& exit = line["exits"][i];
      if (exit.is_null()) {
        stayed[answer][image] = 1;
      } else {
        all[image] = {exit.get<std::size_t>() - 1, line["classes"][i].get<std::int32_t>()};
      }
    }
  }
  EXPECT_EQ(answers["first"], std::vector<int>(kSamples, 1)) << where;
  EXPECT_EQ(answers["second"], stayed["first"]) << where;
  EXPECT_EQ(answers["third"], stayed["second"]) << where;
  const json result = json::parse(outcome.result());
  EXPECT_EQ(result["lost"], 0) << where;
  EXPECT_EQ(result["duplicated"], 0) << where;
  return all;
}

std::ptrdiff_t answers_of(const RoleWorld::Outcome& outcome, const std::string& tier_name, const std::string& answer) {
  const std::vector<Report> all = outcome.of_kind("tier_answers");
  return std::ranges::count_if(all, [&](const Report& report) {
    const json line = json::parse(report.json);
    return line["tier"] == tier_name && line["answer"] == answer;
  });
}

int answers_of(const RoleWorld::Outcome& outcome, net::Rank rank) {
  return json::parse(outcome.result())["devices"][static_cast<std::size_t>(rank - 1)]["tasks"];
}

bool was_lost(const RoleWorld::Outcome& outcome, net::Rank rank) {
  const json result = json::parse(outcome.result());
  return std::ranges::any_of(result["devices"], [&](const json& device) {
    return device["node"] == "rank-" + std::to_string(rank) && device["lost"].get<bool>();
  });
}

json tier(const json& result, const std::string& name) {
  for (const json& tier : result["tiers"])
    if (tier["tier"] == name) return tier;
  return {};
}

}  // namespace mangrove::infer
