#pragma once

#include <cstdint>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::job {

/// Whether a leader can work with a split of so many samples, as a node says that it has, keeping `each` bytes for one.
/// errors: invalid_argument (fewer than 0, or more than their 32-bit numbers can tell apart), resource_exhausted (that
/// takes more than half of the memory that this process may use).
Status check_sample_count(std::int64_t samples, Bytes each);

}  // namespace mangrove::job
