#pragma once

#include "mangrove/base/result.h"
#include "mangrove/net/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Rank 0 of the parameter-server strategy (see parameter_server.h).
Status run_server(const TrainJob& job, net::RoleContext& context);

}  // namespace mangrove::train
