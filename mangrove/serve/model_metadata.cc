#include "mangrove/serve/model_metadata.h"

#include <algorithm>
#include <limits>

#include "mangrove/learn/class_names.h"

namespace mangrove::serve {

bool has_batch(const Graph& graph) {
  return std::ranges::any_of(graph.inputs(),
                             [](const auto& input) { return input.second.shape.batch_axis().has_value(); }) &&
         std::ranges::all_of(graph.outputs(),
                             [&](const auto& name) { return graph.value(name).shape.batch_axis().has_value(); });
}

ModelMetadata metadata_of(const Graph& graph, const std::string& name, const std::string& version,
                          std::vector<std::string> labels, std::int64_t max_batch) {
  const bool is_batched = has_batch(graph);
  const auto describe = [&](const std::string& tensor, const ValueInfo& info) {
    const Shape shape = is_batched ? info.shape : info.shape.with_batch(1);
    return TensorMetadata{tensor, info.dtype, shape.dims()};
  };
  ModelMetadata model;
  model.name = name;
  model.version = version;
  model.platform = "onnx_mangrove";
  model.labels = std::move(labels);
  for (const auto& [input, info] : graph.inputs()) model.inputs.push_back(describe(input, info));
  for (const std::string& output : graph.outputs()) model.outputs.push_back(describe(output, graph.value(output)));
  model.max_batch = is_batched ? max_batch : 0;
  model.properties = graph.metadata();
  model.properties.erase(learn::kClassesKey);  // they are the labels
  return model;
}

Bytes output_bytes(const ModelMetadata& model, std::span<const std::size_t> outputs, std::int64_t samples) {
  constexpr Bytes kMost = std::numeric_limits<Bytes>::max();
  Bytes all = 0;
  for (const std::size_t position : outputs) {
    const TensorMetadata& output = model.outputs[position];
    const Shape shape(output.shape);
    const Bytes one = shape.with_batch(1).elements() * static_cast<Bytes>(size_of(output.dtype));
    const std::int64_t count = shape.is_symbolic() ? samples : 1;
    if (one > 0 && count > (kMost - all) / one) return kMost;
    all += one * count;
  }
  return all;
}

}  // namespace mangrove::serve
