#pragma once

#include "tests/train/training_job.h"

#include "mangrove/base/random.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"

namespace mangrove::train {

/// Two convolutions with a skip connection past both, so that most cuts are crossed by two values, and a dense layer.
inline Graph residual_graph(bool normalizes) {
  using Ints = std::vector<std::int64_t>;
  GraphParts parts = convolutional_graph(10).parts();
  parts.name = "residual";
  const auto weights = [&](const std::string& name, const Shape& shape, std::uint64_t seed) {
    Tensor tensor(DType::f32, shape);
    Random random(seed);
    for (float& value : tensor.as<float>()) value = static_cast<float>(0.1 * random.normal());
    parts.initializers[name] = tensor;
  };
  const Ints pads = {1, 1, 1, 1};
  parts.nodes[3].inputs = {"sum"};  // Flatten
  parts.nodes.push_back({"conv2", "Conv", {{"pads", pads}}, {"small", "conv2.w"}, {"maps2"}});
  parts.nodes.push_back({"relu2", "Relu", {}, {normalizes ? "normal" : "maps2"}, {"active2"}});
  parts.nodes.push_back({"conv3", "Conv", {{"pads", pads}}, {"active2", "conv3.w"}, {"maps3"}});
  parts.nodes.push_back({"add", "Add", {}, {"small", "maps3"}, {"sum"}});
  weights("conv2.w", {8, 8, 3, 3}, 7);
  weights("conv3.w", {8, 8, 3, 3}, 8);
  if (normalizes) {
    parts.nodes.push_back(
        {"bn", "BatchNormalization", {}, {"maps2", "bn.scale", "bn.shift", "bn.mean", "bn.var"}, {"normal"}});
    const auto filled = [](float value) { return Tensor::of<float>({8}, std::vector<float>(8, value)); };
    parts.initializers.emplace("bn.scale", filled(1));
    parts.initializers.emplace("bn.shift", filled(0));
    parts.initializers.emplace("bn.mean", filled(0));
    parts.initializers.emplace("bn.var", filled(1));
  }
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

}  // namespace mangrove::train
