#include "mangrove/plan/operator_memory.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "mangrove/base/check.h"
#include "mangrove/plan/operator_times.h"

namespace mangrove::plan {
namespace {

Bytes scaled(Bytes bytes, std::int64_t batch, std::int64_t measured) {
  return static_cast<Bytes>(static_cast<double>(bytes) * static_cast<double>(batch) / static_cast<double>(measured));
}

/// Whether the profile's operator is the same one, for any number of samples.
bool is_alike(const OperatorProfile& measured, std::int64_t measured_batch, const OperatorProfile& now,
              std::int64_t batch) {
  const double then = measured.flops / static_cast<double>(measured_batch);
  const double flops = now.flops / static_cast<double>(batch);
  return measured.kind == now.kind && std::abs(then - flops) <= 1e-9 * flops;
}

}  // namespace

void set_memory(Profile& profile, const Program& program) {
  const std::vector<NodeMemory>& memory = program.node_memory();
  MG_CHECK(memory.size() == profile.operators.size());
  for (std::size_t i = 0; i < memory.size(); ++i) {
    MG_CHECK(memory[i].node == profile.operators[i].name);
    profile.operators[i].weights = memory[i].weights;
    profile.operators[i].memory = memory[i].arena;
  }
}

std::vector<LayerMemory> layer_memory(const Graph& graph, const GraphLayers& layers, const Profile& profile,
                                      bool training) {
  const std::int64_t batch = layers.network.batch;
  const std::vector<OperatorProfile> operators = operators_of(graph, batch);
  std::vector<LayerMemory> all;
  for (std::size_t i = 0; i < layers.nodes.size(); ++i) {
    LayerMemory known;
    for (const std::size_t node : layers.nodes[i]) {
      const OperatorProfile* found = profile.training == training ? profile.find(operators[node].name) : nullptr;
      if (found == nullptr || !is_alike(*found, profile.batch, operators[node], batch)) continue;
      const Bytes memory = scaled(found->memory, batch, profile.batch);
      known.parameters += found->weights;
      known.activations = training ? known.activations + memory : std::max(known.activations, memory);
    }
    const Layer& layer = layers.network.layers[i];
    all.push_back(known.activations > 0 ? known : LayerMemory{layer.parameters, layer.activations});
  }
  return all;
}

std::vector<Bytes> operator_constants(const Graph& graph) {
  std::vector<Bytes> bytes;
  for (const Node& node : graph.nodes()) {
    const std::set<std::string> inputs(node.inputs.begin(), node.inputs.end());
    bytes.push_back(0);
    for (const std::string& input : inputs)
      if (const auto found = graph.initializers().find(input); found != graph.initializers().end())
        bytes.back() += found->second.bytes();
  }
  return bytes;
}

std::vector<Bytes> operator_weights(const Graph& graph, std::int64_t batch, const Profile& profile) {
  const std::vector<OperatorProfile> operators = operators_of(graph, batch);
  std::vector<Bytes> weights = operator_constants(graph);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const OperatorProfile* found = profile.find(operators[i].name);
    const bool is_known =
        found != nullptr && found->weights > 0 && is_alike(*found, profile.batch, operators[i], batch);
    if (is_known) weights[i] = found->weights;
  }
  return weights;
}

std::vector<LayerMemory> larger(std::span<const LayerMemory> a, std::span<const LayerMemory> b) {
  MG_CHECK(a.size() == b.size());
  std::vector<LayerMemory> both(a.begin(), a.end());
  for (std::size_t i = 0; i < both.size(); ++i) {
    both[i].parameters = std::max(both[i].parameters, b[i].parameters);
    both[i].activations = std::max(both[i].activations, b[i].activations);
  }
  return both;
}

void set_memory(Layers& network, std::span<const LayerMemory> memory) {
  MG_CHECK(memory.size() == network.layers.size());
  for (std::size_t i = 0; i < memory.size(); ++i) {
    network.layers[i].parameters = memory[i].parameters;
    network.layers[i].activations = memory[i].activations;
  }
}

}  // namespace mangrove::plan
