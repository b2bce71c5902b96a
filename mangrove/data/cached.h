#pragma once

#include <memory>

#include "mangrove/base/units.h"
#include "mangrove/data/dataset.h"

namespace mangrove::data {

/// The same samples; those that are read first stay in memory, packed (see sample_bytes.h), until they take `budget`
/// bytes. None makes room for another: an epoch needs each sample once, and last of all the one that was read last.
/// source: Mohan et al., Analyzing and mitigating data stalls in DNN training, VLDB 2021 (MinIO cache).
std::shared_ptr<const Dataset> cached(std::shared_ptr<const Dataset> dataset, Bytes budget);

}  // namespace mangrove::data
