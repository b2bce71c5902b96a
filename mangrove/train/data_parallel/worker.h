#pragma once

#include "mangrove/base/result.h"
#include "mangrove/job/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Ranks 1 .. P of every strategy whose workers have the whole network. The traits of the strategy say which Exchange
/// the worker uses. errors: unavailable (the server is gone), cancelled, and the error that kept the worker from taking
/// part.
Status run_worker(const TrainJob& job, job::RoleContext& context);

}  // namespace mangrove::train
