#pragma once

#include <cstddef>

#include "mangrove/engine/kernel.h"

namespace mangrove {

/// sum[i] += term[i], on as many threads as there is enough to do for.
void accumulate(float* sum, const float* term, std::size_t elements, int threads);

/// A step over operands {sum, term, sum}: sum += term for each f32 or f64 element, in whatever layout both lie.
/// The program puts it after each further contribution to a gradient. It can run on slices of the batch.
Step accumulate_step(DType dtype, Bytes bytes, int threads);

/// A step over one operand: all of it becomes 0. The program puts it where a node with several outputs reads the
/// gradient of one that nobody uses.
Step zero_step(Bytes bytes);

}  // namespace mangrove
