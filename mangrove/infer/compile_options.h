#pragma once

#include "mangrove/engine/compiled_stage.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"
#include "mangrove/learn/replica.h"

namespace mangrove::infer {

/// The options with which a rank compiles its part of the job's network. A device that does not compute leaves the
/// kernels out.
CompiledStageOptions compile_options(const InferJob& job, const job::RoleContext& context);

/// The options that compile a whole network in the same way as a part of it.
learn::ReplicaOptions whole_network(const CompiledStageOptions& options);

}  // namespace mangrove::infer
