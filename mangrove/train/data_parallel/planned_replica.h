#pragma once

#include <memory>

#include "mangrove/job/role.h"
#include "mangrove/learn/replica.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/source.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// A worker's replica for training on these samples, planned within the job's memory. options: everything but the
/// micro-batch. The micro-batch is the job's. If the job names none, it is the one that this rank had in the run that
/// is resumed. Next comes the unit of shares by speed, if it fits the memory. Otherwise it is the one that trains
/// fastest. errors: those of learn::Replica::create and learn::parse_checkpoint.
Result<std::unique_ptr<learn::Replica>> planned_replica(const Graph& graph, const TrainJob& job,
                                                        learn::ReplicaOptions options, Sources& data,
                                                        const job::RoleContext& context);

/// Fills in the message that tells the leader of the plan.
void describe(const learn::ProcessPlan& plan, MemoryPlan& message);

}  // namespace mangrove::train
