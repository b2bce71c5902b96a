#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// job.members are networks for the same samples. Each board classifies all samples with one of them, and when it is
/// done takes the next that nobody has, so that fast boards take more of them; that of a lost or silent one begins anew
/// elsewhere. The leader puts together what they say (see votes.h). Here each network is for some of the classes:
/// one-vs-rest.
Status run_ensemble(const InferJob& job, job::RoleContext& context);

/// The same, with networks that are for all classes each: the mean of their probabilities.
Status run_averaging(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
