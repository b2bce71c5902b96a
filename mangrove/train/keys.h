#pragma once

#include "mangrove/base/keys.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Adds the keys of a training job, as train.proto describes them, with the names of optimizers, losses and so on in
/// their help. They read and write `job`, which must outlive them. An unknown strategy is refused.
void add_keys(TrainJob& job, Keys& keys);

}  // namespace mangrove::train
