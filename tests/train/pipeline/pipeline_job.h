#pragma once

#include "tests/train/training_job.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"

namespace mangrove::train {

/// Two convolutions with a skip connection past both, so that most cuts are crossed by two values, and a dense layer.
inline Graph residual_graph(bool normalizes) {
  using Ints = std::vector<std::int64_t>;
  GraphParts parts = convolutional_graph(10).parts();
  parts.name = "residual";
  const Ints pads = {1, 1, 1, 1};
  parts.nodes[3].inputs = {"sum"};  // Flatten
  parts.nodes.push_back({"conv2", "Conv", {{"pads", pads}}, {"small", "conv2.w"}, {"maps2"}});
  parts.nodes.push_back({"relu2", "Relu", {}, {normalizes ? "normal" : "maps2"}, {"active2"}});
  parts.nodes.push_back({"conv3", "Conv", {{"pads", pads}}, {"active2", "conv3.w"}, {"maps3"}});
  parts.nodes.push_back({"add", "Add", {}, {"small", "maps3"}, {"sum"}});
  parts.initializers.emplace("conv2.w", random_tensor({8, 8, 3, 3}, 0.1, 7));
  parts.initializers.emplace("conv3.w", random_tensor({8, 8, 3, 3}, 0.1, 8));
  if (normalizes) add_normalization(parts, "maps2", 8);
  Result<Graph> graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

inline TrainJob pipeline_job(const std::string& strategy, std::int64_t samples = 60) {
  TrainJob job = small_job(samples);
  job.set_model(encode_onnx(residual_graph(false)));
  job.set_strategy(strategy);
  job.set_batch(12);
  job.set_learning_rate(0.05f);
  job.set_cut("flops");
  job.set_local_steps(2);
  if (strategy != "pipedream") job.set_micro_batches(4);
  return job;
}

/// The same job on one device, by a parameter server with one worker.
inline RoleWorld::Outcome on_one_device(TrainJob job) {
  job.set_strategy("parameter_server");
  if (job.micro_batches() > 0) job.set_micro_batch((job.batch() + job.micro_batches() - 1) / job.micro_batches());
  job.clear_micro_batches();
  return train(job, 1);
}

inline std::vector<float> states_of(const RoleWorld::Outcome& outcome) {
  return learn::flat_states(parse_onnx(outcome.last("result").attachment).value());
}

/// Of a network with batch normalization its running statistics too.
inline void expect_equal(const RoleWorld::Outcome& outcome, const RoleWorld::Outcome& one, bool normalizes,
                         const std::string& where) {
  EXPECT_LT(relative_difference(trained_parameters(outcome), trained_parameters(one)), 1e-5) << where;
  if (normalizes) {
    EXPECT_LT(relative_difference(states_of(outcome), states_of(one)), 1e-5) << where;
  }
  EXPECT_NEAR(json_number(outcome.result(), "loss"), json_number(one.result(), "loss"), 1e-5) << where;
  EXPECT_NEAR(json_number(outcome.result(), "test_loss"), json_number(one.result(), "test_loss"), 1e-5) << where;
}

}  // namespace mangrove::train
