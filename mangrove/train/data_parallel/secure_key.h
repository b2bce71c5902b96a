#pragma once

#include "mangrove/base/result.h"
#include "mangrove/train/data_parallel/secure_update.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Checks the job's `secure_aggregation`. errors: invalid_argument (something else in the job asks for what nobody can
/// do who sees sums only): names the keys and says why.
Status check_secure_aggregation(const TrainJob& job);

/// What the job's codec leaves of an update in a secure sum. job: one that was checked.
SharedMask shared_mask(const TrainJob& job);

}  // namespace mangrove::train
