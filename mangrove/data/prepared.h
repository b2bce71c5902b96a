#pragma once

#include <cstdint>
#include <memory>

#include "mangrove/data/augment/augmentation.h"
#include "mangrove/data/dataset.h"

namespace mangrove::data {

/// The same samples, transformed when they are read. With `training`, by the random transformations too, as a Loader of
/// this seed has them in epoch 0: each sample is always the same.
/// REQUIRES !augmentation->mixes().
std::shared_ptr<const Dataset> prepared(std::shared_ptr<const Dataset> dataset,
                                        std::shared_ptr<const Augmentation> augmentation, bool training,
                                        std::uint64_t seed);

}  // namespace mangrove::data
