#pragma once

#include "mangrove/base/result.h"
#include "mangrove/net/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Ranks 1 .. P of the parameter-server strategy (see parameter_server.h).
/// errors: unavailable (the server is gone), cancelled, and what kept the worker from taking part.
Status run_worker(const TrainJob& job, net::RoleContext& context);

}  // namespace mangrove::train
