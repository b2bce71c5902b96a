#pragma once

#include <vector>

#include "mangrove/engine/buffer_table.h"
#include "mangrove/engine/kernel.h"

namespace mangrove {

/// One step as the slicing sees it.
struct SliceCandidate {
  const Step* step;
  const std::vector<BufferId>* buffers;  // parallel to the step's operands
};

/// The steps [first, last) of the new order, run on one slice of the batch after another: what one of them writes, the
/// next finds in the cache, and a value that only they use needs memory for one slice.
struct SliceGroup {
  std::size_t first = 0;
  std::size_t last = 0;
  int slices = 1;
};

struct SlicePlan {
  std::vector<std::size_t> order;  // positions of the steps in their old order
  std::vector<SliceGroup> groups;  // ascending
};

/// Finds groups among steps that are run one after the other. A step that cannot be sliced and has nothing to do with
/// the group around it (a reorder of weights) goes in front of it.
/// source: depth-first tiling over the batch, as of Jangda and Guha, MBS: Mini-batch serialization, 2019 (Lym et al.).
/// threads: how many run the steps, each with a cache of its own.
SlicePlan plan_slices(const std::vector<SliceCandidate>& steps, std::int64_t batch, int threads,
                      const BufferTable& buffers);

}  // namespace mangrove
