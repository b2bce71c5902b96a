#pragma once

#include <span>
#include <vector>

#include "mangrove/engine/recompute_plan.h"
#include "mangrove/engine/step_list.h"

namespace mangrove {

/// Positions of one link's steps in a StepList: forward and backward, [first, end) each.
struct LinkSteps {
  int first_forward = 0, end_forward = 0;
  int first_backward = 0, end_backward = 0;
};

/// Memory of a link, as ChainLink has it, and which link reads its results last in the forward pass (-1: none).
struct MeasuredLink {
  ChainLink link;  // its time is not set
  int last_reader = -1;
};

/// What the buffers of a training program that recomputes nothing say of the chain that its links are. Call once it is
/// known which buffers share memory. `links` in forward order; all forward steps come before all backward steps.
std::vector<MeasuredLink> measure_chain(const StepList& steps, std::span<const LinkSteps> links);

}  // namespace mangrove
