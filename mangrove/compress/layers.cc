#include "mangrove/compress/layers.h"

#include <set>

#include "mangrove/learn/optimizer.h"

namespace mangrove::compress {

std::vector<LayerWeights> layers_with_weights(const Graph& graph) {
  const std::vector<std::string> names = graph.parameters();
  const std::vector<bool> spared = learn::spared_from_decay(graph);
  std::set<std::string> weights;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!spared[i] && graph.initializers().at(names[i]).dtype() == DType::f32) weights.insert(names[i]);
  std::vector<LayerWeights> layers;
  for (const Node& node : graph.nodes()) {
    for (const std::string& input : node.inputs) {
      if (weights.erase(input) == 0) continue;
      const bool is_convolution = node.op == "Conv" || node.op == "ConvTranspose";
      const bool has_bias = (is_convolution || node.op == "Gemm") && node.inputs.size() > 2 &&
                            graph.initializers().contains(node.inputs[2]);
      layers.push_back({node.name, input, has_bias ? node.inputs[2] : "", is_convolution});
    }
  }
  return layers;
}

}  // namespace mangrove::compress
