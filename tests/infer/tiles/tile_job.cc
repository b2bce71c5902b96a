#include "tests/infer/tiles/tile_job.h"

#include <utility>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/graph/onnx.h"

namespace mangrove::infer {
namespace {

using Integers = std::vector<std::int64_t>;

Node conv(const std::string& name, const std::string& input, const std::string& output, std::int64_t stride = 1) {
  return {name,
          "Conv",
          {{"kernel_shape", Integers{3, 3}}, {"pads", Integers{1, 1, 1, 1}}, {"strides", Integers{stride, stride}}},
          {input, name + "_w", name + "_b"},
          {output}};
}

}  // namespace

Graph tiled_network() {
  GraphParts parts;
  parts.name = "tiled";
  parts.inputs = {{"input", {DType::f32, {kBatch, 1, 28, 28}}}};
  parts.outputs = {"logits"};
  parts.nodes = {
      conv("conv1", "input", "a"),
      {"relu1", "Relu", {}, {"a"}, {"b"}},
      conv("conv2", "b", "c"),
      {"add", "Add", {}, {"c", "b"}, {"d"}},
      {"relu2", "Relu", {}, {"d"}, {"e"}},
      conv("conv3", "e", "f", 2),
      {"relu3", "Relu", {}, {"f"}, {"g"}},
      {"pool", "MaxPool", {{"kernel_shape", Integers{3, 3}}, {"strides", Integers{2, 2}}}, {"g"}, {"h"}},
      conv("conv4", "h", "i"),
      {"mean", "GlobalAveragePool", {}, {"i"}, {"j"}},
      {"flatten", "Flatten", {}, {"j"}, {"k"}},
      {"fc", "Gemm", {{"transB", std::int64_t{1}}}, {"k", "fc_w", "fc_b"}, {"logits"}},
  };
  const auto add = [&](const std::string& name, std::int64_t in, std::int64_t out, std::uint64_t seed) {
    parts.initializers[name + "_w"] = random_tensor({out, in, 3, 3}, 0.4, seed);
    parts.initializers[name + "_b"] = random_tensor({out}, 0.2, seed + 100);
  };
  add("conv1", 1, 6, 1);
  add("conv2", 6, 6, 2);
  add("conv3", 6, 8, 3);
  add("conv4", 8, 12, 4);
  parts.initializers["fc_w"] = random_tensor({10, 12}, 0.8, 5);
  parts.initializers["fc_b"] = random_tensor({10}, 0.1, 6);
  Result<Graph> graph = Graph::create(std::move(parts));
  MG_CHECK_MSG(graph.ok(), graph.error().message);
  return *graph;
}

InferJob tiles_job(std::int64_t samples, const std::string& tiling) {
  InferJob job = small_job(samples, 0);
  job.set_model(encode_onnx(tiled_network()));
  job.set_strategy("tiles");
  job.set_tiling(tiling);
  return job;
}

}  // namespace mangrove::infer
