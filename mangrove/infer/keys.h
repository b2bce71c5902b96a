#pragma once

#include "mangrove/base/keys.h"
#include "mangrove/infer/infer.pb.h"

namespace mangrove::infer {

/// Adds the keys of an inference job, as infer.proto describes them, with the names of strategies, schedulers and so on
/// in their help. They read and write `job`, which must outlive them. An unknown strategy is refused.
void add_keys(InferJob& job, Keys& keys);

}  // namespace mangrove::infer
