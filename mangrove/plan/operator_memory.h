#pragma once

#include <span>
#include <vector>

#include "mangrove/engine/program.h"
#include "mangrove/plan/graph_layers.h"
#include "mangrove/plan/profile.h"

namespace mangrove::plan {

/// The memory of a layer; see Layer.
struct LayerMemory {
  Bytes parameters = 0, activations = 0;
};

/// Sets the operators' memory to that of the compiled network. program: compiled from the graph of the profile.
void set_memory(Profile& profile, const Program& program);

/// The memory of each layer of layers_of(graph, batch, training), by the profile. For another size of micro-batch, it
/// is scaled in proportion. The layers' own figures are used if the profile has none, is of the other mode, or has
/// other operators of these names.
std::vector<LayerMemory> layer_memory(const Graph& graph, const GraphLayers& layers, const Profile& profile,
                                      bool training);

/// Bytes of the constants of each operator.
std::vector<Bytes> operator_constants(const Graph& graph);

/// Bytes of the parameters of each operator, as its kernels have them by the profile. Where the profile does not say
/// it, they are the bytes of its constants.
std::vector<Bytes> operator_weights(const Graph& graph, std::int64_t batch, const Profile& profile);

/// The larger of both figures for each layer, for devices with different profiles.
std::vector<LayerMemory> larger(std::span<const LayerMemory> a, std::span<const LayerMemory> b);
void set_memory(Layers& network, std::span<const LayerMemory> memory);

}  // namespace mangrove::plan
