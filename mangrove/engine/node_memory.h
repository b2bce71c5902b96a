#pragma once

#include <vector>

#include "mangrove/engine/step_list.h"

namespace mangrove {

/// What the buffers of a program say of each node of its graph. Call once it is known which buffers share memory.
/// forward_steps: how many of the steps are the forward pass.
std::vector<NodeMemory> measure_nodes(const Graph& graph, const StepList& steps, int forward_steps, Mode mode);

}  // namespace mangrove
