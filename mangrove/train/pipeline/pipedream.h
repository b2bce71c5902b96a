#pragma once

#include "mangrove/net/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Strategy "pipedream": mini-batches follow each other through the stages without a pause, each stage makes its update
/// after each of them, and keeps older parameters for those under way; see pipedream_schedule. source: Narayanan et
/// al., PipeDream: Generalized pipeline parallelism for DNN training, SOSP 2019.
Status run_pipedream(const TrainJob& job, net::RoleContext& context);

}  // namespace mangrove::train
