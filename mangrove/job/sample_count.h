#pragma once

#include <cstdint>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::job {

/// Checks that a leader can work with a split of `samples` samples, a number that a node has told, when it keeps `each`
/// bytes for each of them. errors: invalid_argument (fewer than 0, or more than 32 bits can number), resource_exhausted
/// (they take more than half of the memory that this process may use).
Status check_sample_count(std::int64_t samples, Bytes each);

}  // namespace mangrove::job
