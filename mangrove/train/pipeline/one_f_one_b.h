#pragma once

#include "mangrove/net/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Strategy "one_f_one_b": as gpipe, but each stage goes over to a forward and a backward pass in turn as soon as it
/// can, and so holds fewer micro-batches; see one_f_one_b_schedule. source: Narayanan et al., Memory-efficient
/// pipeline-parallel DNN training, ICML 2021 (PipeDream-flush).
Status run_one_f_one_b(const TrainJob& job, net::RoleContext& context);

}  // namespace mangrove::train
