#pragma once

#include <span>
#include <vector>

#include "mangrove/engine/program.h"
#include "mangrove/plan/graph_layers.h"
#include "mangrove/plan/profile.h"

namespace mangrove::plan {

/// Memory of a layer, as Layer has it.
struct LayerMemory {
  Bytes parameters = 0, activations = 0;
};

/// Sets what the compiled network says of the operators' memory. program: of the graph that the profile is of.
void set_memory(Profile& profile, const Program& program);

/// The memory of each layer of layers_of(graph, batch, training), as the profile has it; of another size of micro-batch
/// in proportion. What the layers say themselves where the profile does not know, or is of the other mode or of other
/// operators of these names.
std::vector<LayerMemory> layer_memory(const Graph& graph, const GraphLayers& layers, const Profile& profile,
                                      bool training);

/// Layers of devices whose profiles differ take the larger of these.
std::vector<LayerMemory> larger(std::span<const LayerMemory> a, std::span<const LayerMemory> b);
void set_memory(Layers& network, std::span<const LayerMemory> memory);

}  // namespace mangrove::plan
