#pragma once

#include <memory>

#include "mangrove/job/role.h"
#include "mangrove/learn/replica.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/source.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// A worker's replica for training on these samples, planned within the job's memory. options: the rest. Its
/// micro-batch is the job's; or else the one that the context's rank had in the run that is resumed, or the one that
/// shares are made of, if it fits the memory; or else the one that trains fastest. errors: those of
/// learn::Replica::create and of learn::parse_checkpoint.
Result<std::unique_ptr<learn::Replica>> planned_replica(const Graph& graph, const TrainJob& job,
                                                        learn::ReplicaOptions options, Sources& data,
                                                        const job::RoleContext& context);

/// As the leader is told of it.
void describe(const learn::ProcessPlan& plan, MemoryPlan& message);

}  // namespace mangrove::train
