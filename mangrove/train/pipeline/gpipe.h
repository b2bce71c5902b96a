#pragma once

#include "mangrove/net/role.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Strategy "gpipe": rank 0 leads, the others are stages that take all micro-batches of a mini-batch forward, then all
/// of them back, and make one update; see gpipe_schedule, PipelineLeader. source: Huang et al., GPipe: Efficient
/// training of giant neural networks using pipeline parallelism, NeurIPS 2019.
Status run_gpipe(const TrainJob& job, net::RoleContext& context);

}  // namespace mangrove::train
