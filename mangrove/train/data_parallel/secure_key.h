#pragma once

#include "mangrove/base/result.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Checks the job's `secure_aggregation`. errors: invalid_argument (something else in the job asks for what nobody can
/// do who sees sums only): names the keys and says why.
Status check_secure_aggregation(const TrainJob& job);

}  // namespace mangrove::train
