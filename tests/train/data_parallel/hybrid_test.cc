#include "mangrove/train/data_parallel/hybrid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/base/sanitizer.h"
#include "tests/train/training_job.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/graph/split.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/replica.h"
#include "mangrove/train/data_parallel/division.h"
#include "mangrove/train/data_parallel/layer_pair.h"
#include "mangrove/train/data_parallel/network_shard.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kHybridSamples = 60;

TrainJob dividing(TrainJob job, std::int64_t ways) {
  job.set_strategy("hybrid");
  job.set_model_parallel(ways);
  return job;
}

/// Two epochs.
TrainJob hybrid_job(std::int64_t ways) {
  TrainJob job = dividing(small_job(kHybridSamples), ways);
  job.set_epochs(2);
  job.set_step_timeout_s(20);
  return job;
}

/// A convolution with batch normalization, then three fully connected layers. transposed: how their weights lie.
Graph dense_graph(bool transposed) {
  GraphParts parts = convolutional_graph(10).parts();
  parts.name = transposed ? "dense" : "dense, weights as inputs x outputs";
  parts.nodes[1].inputs = {"normal"};
  parts.nodes.pop_back();
  const auto layer = [&](const std::string& name, const std::string& from, const std::string& to, std::int64_t inputs,
                         std::int64_t outputs, std::uint64_t seed) {
    parts.nodes.push_back(
        {name, "Gemm", {{"transB", std::int64_t{transposed}}}, {from, name + ".w", name + ".b"}, {to}});
    parts.initializers.erase(name + ".w");
    const Shape shape = transposed ? Shape{outputs, inputs} : Shape{inputs, outputs};
    parts.initializers.emplace(name + ".w", random_tensor(shape, 0.1, seed));
    parts.initializers.emplace(name + ".b", random_tensor({outputs}, 0.1, seed + 1));
  };
  add_normalization(parts, "maps", 8);
  parts.initializers.erase("fc.w");
  parts.initializers.erase("fc.b");
  layer("fc1", "flat", "hidden1", 288, 23, 10);
  parts.nodes.push_back({"relu1", "Relu", {}, {"hidden1"}, {"active1"}});
  layer("fc2", "active1", "hidden2", 23, 17, 20);
  parts.nodes.push_back({"tanh2", "Tanh", {}, {"hidden2"}, {"active2"}});
  layer("fc3", "active2", "logits", 17, 10, 30);
  Result<Graph> graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

Graph zoo_network(const std::string& name, const Shape& sample, std::int64_t classes) {
  Result<Graph> graph = zoo::build_model(name, {.sample_shape = sample, .classes = classes});
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

TEST(LayerPairs, AreFoundWhereTwoLayersFollowEachOther) {
  const Graph dense = dense_graph(true);
  const std::vector<LayerPair> pairs = layer_pairs(dense);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].first, "fc1");
  EXPECT_EQ(pairs[0].second, "fc2");
  EXPECT_EQ(pairs[0].features, 288);
  EXPECT_EQ(pairs[0].hidden, 23);
  EXPECT_EQ(pairs[0].outputs, 17);
  EXPECT_EQ(pairs[0].divided_elements, 23 * (288 + 1 + 17));
  EXPECT_EQ(pairs[0].elements_before, 8 * (25 + 1) + 16);
  EXPECT_EQ(pairs[1].first, "fc2");
  EXPECT_EQ(layer_pairs(convolutional_graph(10)).size(), 0u);
  EXPECT_EQ(layer_pairs(normalized_graph()).size(), 0u) << "batch normalization has parameters of its own";
  EXPECT_EQ(layer_pairs(small_graph()).size(), 1u);
}

TEST(LayerPairs, WeightsThatOthersUseAreNotDivided) {
  GraphParts parts = small_graph().parts();
  parts.nodes[3].inputs[0] = "sum";
  parts.nodes.push_back({"sum", "Add", {}, {"squashed", "b1"}, {"sum"}});
  const Result<Graph> graph = Graph::create(std::move(parts));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(layer_pairs(*graph).size(), 0u);
}

TEST(LayerPairs, ABiasThatIsTheSameForAllValuesIsNotDivided) {
  GraphParts parts = small_graph().parts();
  parts.initializers.at("b1") = random_tensor({1}, 0.05, 2);
  const Result<Graph> graph = Graph::create(std::move(parts));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(layer_pairs(*graph).size(), 0u);
}

TEST(NetworkShards, TogetherHaveEachParameterOnce) {
  for (const bool transposed : {false, true}) {
    const Graph graph = dense_graph(transposed);
    for (const LayerPair& pair : layer_pairs(graph)) {
      for (const std::size_t ways : {1u, 2u, 3u, 5u}) {
        std::vector<float> whole(static_cast<std::size_t>(graph.parameter_elements()));
        std::iota(whole.begin(), whole.end(), 1.0f);
        std::vector<float> again(whole.size());
        for (std::size_t i = 0; i < ways; ++i) {
          const NetworkShard shard = NetworkShard::of(graph, pair, i, ways);
          const auto elements = static_cast<std::size_t>(shard.graph().parameter_elements());
          ASSERT_EQ(elements, shard.common_elements() + shard.divided_elements());
          std::vector<float> part(elements), common, divided;
          shard.gather(whole, part);
          // the graph's own weights are cut in the same way
          const Result<Graph> numbered = learn::with_flat_parameters(graph, whole);
          ASSERT_TRUE(numbered.ok());
          EXPECT_EQ(learn::flat_parameters(NetworkShard::of(*numbered, pair, i, ways).graph()), part);
          std::size_t next = 0;
          for (std::size_t k = 0; k < shard.divided().size(); ++k) {
            const auto count =
                static_cast<std::size_t>(shard.graph().value(shard.graph().parameters()[k]).shape.elements());
            auto& into = shard.divided()[k] ? divided : common;
            into.insert(into.end(), part.begin() + static_cast<std::ptrdiff_t>(next),
                        part.begin() + static_cast<std::ptrdiff_t>(next + count));
            next += count;
          }
          shard.scatter_divided(divided, again);
          if (i == 0) shard.scatter_common(common, again);
        }
        EXPECT_EQ(again, whole) << ways << " ways";
      }
    }
  }
}

TEST(Divisions, SendTheFewestFloats) {
  const Graph alexnet = zoo_network("alexnet", {3, 224, 224}, 1000);
  const std::vector<LayerPair> pairs = layer_pairs(alexnet);
  ASSERT_EQ(pairs.size(), 2u);  // fc6 and fc7, fc7 and fc8
  for (const std::size_t workers : {2u, 4u, 6u, 7u, 8u}) {
    const auto best = best_division(alexnet, pairs, workers, 32, 0);
    ASSERT_TRUE(best);
    EXPECT_EQ(*best, (Division{.pair = 0, .ways = workers})) << workers;
    for (std::size_t ways = 1; ways <= workers; ++ways) {
      if (workers % ways == 0) {
        EXPECT_LE(floats_sent(alexnet, pairs[0], workers, workers, 32),
                  floats_sent(alexnet, pairs[0], ways, workers, 32));
      }
    }
  }
  EXPECT_EQ(best_division(alexnet, pairs, 6, 32, 4)->ways, 3u) << "6 workers are no groups of 4";
  EXPECT_EQ(best_division(alexnet, pairs, 4, 32, 1)->ways, 1u);
  const Graph small = small_graph();  // so large a batch costs more than the weights
  EXPECT_EQ(best_division(small, layer_pairs(small), 4, 100'000, 0)->ways, 1u);
  EXPECT_FALSE(best_division(small, {}, 4, 8, 0));
}

// All-reduce itself is compared with a parameter server, and that with one device.
TEST(Hybrid, ComputesWhatAllReduceDoes) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  for (const Graph& graph : {small_graph(), dense_graph(false), dense_graph(true)}) {
    for (const auto& [workers, ways] :
         std::vector<std::pair<int, int>>{{1, 0}, {2, 2}, {3, 3}, {4, 2}, {4, 4}, {4, 1}, {5, 2}, {6, 3}}) {
      TrainJob job = small_job(1200);
      job.set_model(encode_onnx(graph));
      job.set_batch(60 / workers);
      job.set_schedule("cosine");
      job.set_learning_rate(0.02f);
      job.set_weight_decay(0.001f);
      job.set_ema_decay(0.9f);
      TrainJob reference = job;
      reference.set_strategy("all_reduce");
      const RoleWorld::Outcome hybrid = train(dividing(job, ways), workers), reduced = train(reference, workers);
      const std::string where = graph.name() + ", " + std::to_string(workers) + " workers, " + std::to_string(ways);
      ASSERT_TRUE(hybrid.leader.ok()) << where << ": " << hybrid.leader.error().message;
      for (const Status& status : hybrid.others) EXPECT_TRUE(status.ok());
      EXPECT_EQ(json_number(hybrid.result(), "steps"), 20);
      EXPECT_LT(relative_difference(trained_parameters(hybrid), trained_parameters(reduced)), 1e-5) << where;
      EXPECT_NEAR(json_number(hybrid.result(), "loss"), json_number(reduced.result(), "loss"), 1e-4) << where;
    }
  }
}

// The network begins with the divided layers then.
TEST(Hybrid, TrainsAHeadBehindAFrozenPart) {
  const auto halves = split_behind(convolutional_graph(10, 24), "flatten");
  ASSERT_TRUE(halves.ok()) << halves.error().message;
  TrainJob job = small_job(kHybridSamples);
  job.set_frozen(encode_onnx(halves->front));
  job.set_model(encode_onnx(halves->back));
  TrainJob reference = job;
  reference.set_strategy("all_reduce");
  const auto reduced = trained_parameters(train(reference, 4));
  for (const std::int64_t ways : {2, 4}) {
    const RoleWorld::Outcome outcome = train(dividing(job, ways), 4);
    ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    EXPECT_LT(relative_difference(trained_parameters(outcome), reduced), 1e-5) << ways;
  }
}

TEST(Hybrid, EveryElementwiseOptimizerComputesWhatAllReduceDoes) {
  MG_SKIP_IF_SANITIZED("what is learnt does not depend on a sanitizer");
  for (const learn::OptimizerRow& row : learn::optimizers()) {
    TrainJob job = small_job(300);
    job.set_batch(10);
    job.set_optimizer(std::string(row.name));
    job.set_learning_rate(0.01f);
    job.set_epsilon(1e-3f);  // adam and its like would divide rounding errors by nearly nothing
    job.set_clip_value(0.05f);
    TrainJob reference = job;
    reference.set_strategy("all_reduce");
    const RoleWorld::Outcome hybrid = train(dividing(job, 3), 3);
    ASSERT_EQ(hybrid.leader.ok(), !row.is_layer_wise) << row.name;
    if (row.is_layer_wise) continue;
    EXPECT_LT(relative_difference(trained_parameters(hybrid), trained_parameters(train(reference, 3))), 1e-5)
        << row.name;
  }
}

TEST(Hybrid, MicroBatchesGiveTheSameGradients) {
  TrainJob job = dividing(small_job(kHybridSamples), 3);
  const auto whole = trained_parameters(train(job, 3));
  job.set_micro_batch(3);  // does not divide a batch
  EXPECT_LT(relative_difference(trained_parameters(train(job, 3)), whole), 1e-5);
}

/// dense_graph() with batch normalization behind the first pair.
Graph normalized_behind() {
  GraphParts parts = dense_graph(true).parts();
  const auto channels = [](float value) { return Tensor::of<float>({17}, std::vector<float>(17, value)); };
  parts.initializers.emplace("bn2.scale", channels(1));
  parts.initializers.emplace("bn2.shift", channels(0));
  parts.initializers.emplace("bn2.mean", channels(0));
  parts.initializers.emplace("bn2.var", channels(1));
  parts.nodes.push_back(
      {"bn2", "BatchNormalization", {}, {"hidden2", "bn2.scale", "bn2.shift", "bn2.mean", "bn2.var"}, {"normal2"}});
  for (Node& node : parts.nodes)
    if (node.name == "tanh2") node.inputs = {"normal2"};
  Result<Graph> graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

/// dense_graph() whose last parameters belong to a pair: the last two layers, with a factor and without biases.
Graph divided_to_the_end() {
  GraphParts parts = dense_graph(true).parts();
  std::erase_if(parts.nodes, [](const Node& node) { return node.name == "fc1" || node.name == "relu1"; });
  for (Node& node : parts.nodes) {
    if (node.name == "fc2")
      node = {"fc2", "Gemm", {{"transB", std::int64_t{1}}, {"alpha", 0.7f}}, {"flat", "fc2.w"}, {"hidden2"}};
    if (node.name == "fc3") node = {"fc3", "Gemm", {{"transB", std::int64_t{1}}}, {"active2", "fc3.w"}, {"last"}};
  }
  parts.nodes.push_back({"end", "Tanh", {}, {"last"}, {"logits"}});
  for (const char* name : {"fc1.w", "fc1.b", "fc2.b", "fc3.b"}) parts.initializers.erase(name);
  parts.initializers.at("fc2.w") = random_tensor({40, 288}, 0.1, 5);
  parts.initializers.at("fc3.w") = random_tensor({10, 40}, 0.1, 7);
  Result<Graph> graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

// Micro-batches that are not full must not change the statistics of batch normalization, on either side of the pair.
TEST(Hybrid, ComputesWhatAllReduceDoesWithStatesOnBothSides) {
  for (const Graph& graph : {normalized_behind(), divided_to_the_end()}) {
    TrainJob job = small_job(100);  // in the last step there are fewer samples than places
    job.set_model(encode_onnx(graph));
    job.set_micro_batch(3);
    job.set_learning_rate(0.02f);
    TrainJob reference = job;
    reference.set_strategy("all_reduce");
    const RoleWorld::Outcome reduced = train(reference, 4);
    for (const std::int64_t ways : {2, 4}) {
      const RoleWorld::Outcome hybrid = train(dividing(job, ways), 4);
      const std::string where = std::to_string(graph.nodes().size()) + " operators, " + std::to_string(ways);
      ASSERT_TRUE(hybrid.leader.ok()) << where << ": " << hybrid.leader.error().message;
      EXPECT_LT(relative_difference(trained_parameters(hybrid), trained_parameters(reduced)), 1e-5) << where;
      const auto states = [](const RoleWorld::Outcome& outcome) {
        return learn::flat_states(*parse_onnx(outcome.last("result").attachment));
      };
      EXPECT_LT(relative_difference(states(hybrid), states(reduced)), 1e-5) << where;
    }
  }
}

TEST(NetworkShards, TakeOtherNamesWhereTheirsAreTaken) {
  GraphParts parts = small_graph().parts();
  parts.nodes[0].name = "fc2.bias";
  parts.nodes[2].outputs = {"logits.partial"};
  parts.nodes[3].inputs[0] = "logits.partial";
  const Result<Graph> graph = Graph::create(std::move(parts));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_EQ(layer_pairs(*graph).size(), 1u);
  EXPECT_EQ(NetworkShard::of(*graph, layer_pairs(*graph)[0], 0, 2).graph().nodes().size(), 5u);
}

TEST(Hybrid, SharesBySpeedGiveTheSameGradients) {
  TrainJob job = dividing(small_job(240), 3);
  job.set_optimizer("sgd");
  job.set_split("iid");
  const auto equal = trained_parameters(train(job, 3));
  job.set_balance("speed");
  const RoleWorld::Outcome balanced = train(job, 3);
  expect_complete(balanced, job, "by speed");
  EXPECT_LT(relative_difference(trained_parameters(balanced), equal), 1e-5);
}

TEST(Hybrid, TwoRunsAreBitEqual) {
  TrainJob job = hybrid_job(2);
  job.set_model(encode_onnx(dense_graph(true)));
  const auto first = trained_parameters(train(job, 4));
  EXPECT_EQ(trained_parameters(train(job, 4)), first);
}

TEST(Hybrid, AStoppedRunGoesOnBitEqual) {
  TrainJob job = hybrid_job(3);
  job.set_limit(1000);
  const auto undisturbed = trained_parameters(train(job, 3));
  EXPECT_EQ(trained_with_a_stop(job, 3), undisturbed);
}

// What workers send, with the leader's share, is what was predicted but for headers.
TEST(Hybrid, SendsWhatItPredicts) {
  for (const auto& [workers, ways, graph] : std::vector<std::tuple<int, int, Graph>>{
           {4, 4, small_graph()}, {4, 2, dense_graph(true)}, {3, 3, dense_graph(false)}}) {
    TrainJob job = dividing(small_job(std::int64_t{workers} * 8 * 10), ways);
    job.set_model(encode_onnx(graph));
    const RoleWorld::Outcome outcome = train(job, workers);
    ASSERT_TRUE(outcome.leader.ok()) << outcome.leader.error().message;
    const auto result = nlohmann::json::parse(outcome.result());
    const double steps = json_number(outcome.result(), "steps");
    ASSERT_EQ(steps, 10);
    const auto bytes = [&](const char* direction) {
      return result["exchange"][direction]["float_bytes"].get<double>();
    };
    const double sent = (bytes("uplink") + bytes("peers")) / steps / workers;
    const auto all = static_cast<std::size_t>(workers);
    const std::vector<LayerPair> pairs = layer_pairs(graph);
    const Division division = *best_division(graph, pairs, all, 8, static_cast<std::size_t>(ways));
    const double predicted = 4 * floats_sent(graph, pairs[division.pair], division.ways, all, 8);
    EXPECT_NEAR(sent, predicted, 0.01 * predicted) << workers << " workers, " << ways << " ways";
  }
}

TEST(Hybrid, TellsHowLayersAreDivided) {
  const RoleWorld::Outcome outcome = train(dividing(small_job(64), 2), 4);
  EXPECT_TRUE(outcome.has_event(R"("event":"layers_divided")"));
  EXPECT_TRUE(outcome.has_event(R"("ways":2)"));
  EXPECT_TRUE(outcome.has_event(R"("groups":2)"));
}

// Both ends of a link are well, but nothing passes: one of them is left out, and the others go on.
TEST(HybridFaults, ABrokenLinkCostsOneWorker) {
  for (net::Rank a = 1; a <= 4; ++a) {
    for (net::Rank b = a + 1; b <= 4; ++b) {
      bool is_used = false;
      const RoleWorld::Outcome outcome = train_over_broken_link(hybrid_job(4), 4, a, b, is_used);
      const std::string where = "link between " + std::to_string(a) + " and " + std::to_string(b);
      expect_complete(outcome, hybrid_job(4), where);
      EXPECT_TRUE(is_used) << where;
      EXPECT_EQ(json_number(outcome.result(), "workers"), 3) << where;
    }
  }
}

TEST(Hybrid, RefusesWhatItCannotDo) {
  const auto error_of = [](auto change) {
    TrainJob job = hybrid_job(2);
    change(job);
    const RoleWorld::Outcome outcome = train(job, 2);
    return outcome.leader.ok() ? "" : outcome.leader.error().message;
  };
  EXPECT_NE(error_of([](TrainJob& job) { job.set_clip_norm(1); }).find("clip_norm"), std::string::npos);
  EXPECT_NE(error_of([](TrainJob& job) { job.set_codec("int8"); }).find("codec"), std::string::npos);
  EXPECT_NE(error_of([](TrainJob& job) { job.set_optimizer("lars"); }).find("optimizer"), std::string::npos);
  EXPECT_NE(error_of([](TrainJob& job) { job.set_model(encode_onnx(convolutional_graph(10))); }).find("all_reduce"),
            std::string::npos);
}

}  // namespace
}  // namespace mangrove::train
