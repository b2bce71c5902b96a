#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mangrove/engine/buffer_table.h"
#include "mangrove/engine/kernel.h"

namespace mangrove {

/// A step of a program in the making: its buffers are known, but not where they lie.
struct DraftStep {
  Step step;
  std::vector<BufferId> buffers;  // parallel to step.operands
  BufferId workspace = kNoBuffer;
  std::string backend;
  // of a step in a group that is run slice by slice
  std::optional<SlicedStep> sliced = {};
  std::vector<Bytes> strides = {};  // parallel to buffers; from one slice to the next
};

}  // namespace mangrove
