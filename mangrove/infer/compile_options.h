#pragma once

#include "mangrove/engine/compiled_stage.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"
#include "mangrove/learn/replica.h"

namespace mangrove::infer {

/// How a rank compiles its part of the job's network.
CompiledStageOptions compile_options(const InferJob& job, const job::RoleContext& context);

/// The same for a whole network.
learn::ReplicaOptions whole_network(const CompiledStageOptions& options);

}  // namespace mangrove::infer
