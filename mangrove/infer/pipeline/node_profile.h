#pragma once

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/pipeline/stage_worker.h"
#include "mangrove/job/role.h"
#include "mangrove/learn/replica.h"

namespace mangrove::infer {

/// What the operators of a job's unsplit network take on this node for one micro-batch, and reading one: as it is kept
/// from an earlier job (see plan::ProfileCache; reading: of the same data), else measured now and kept, and always
/// measured where the job asks for that. `process` is as it is now. Times are medians of what one thread computes, as a
/// CPU quota stretches it, so that neither pauses that a quota makes nor other programs shift the operators against
/// each other. replica: of the network. errors: those of Dataset::read.
/// Of a simulated device it is what its own clock says, and nothing is kept.
Result<Profile> profile_node(const InferJob& job, const job::RoleContext& context, learn::Replica& replica,
                             const SampleSource& source);

}  // namespace mangrove::infer
