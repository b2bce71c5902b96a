#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Inference with a network on each tier: end devices classify every image, often coarsely, and edge servers or the
/// cloud replace each answer by a finer one, in the same stream of answers.
///
/// Rank 0 leads: it gives tasks, an answer to the images of one batch each, to devices as a scheduler says
/// (schedulers/scheduler.h), and keeps a few under way to each, as many as hide the way to it by what is measured.
/// Which rank is on which tier: nodes named as a tier, or NAME-NUMBER, are of it; the others fill up end, edge and
/// cloud in the order of their ranks; those that do not have the data only tiers that do not need it.
///
/// switching  a user may have another scheduler take over at any time: a message of job::kControlTag names it. It
///            decides about all answers that have not been given out, and those that are under way are taken as they
///            come.
///
/// privacy  devices of a tier that is not trusted get in place of the samples what the first layers of their network
///          make of them (bottom_models.h); rank 0 reads the samples itself, computes these layers and keeps the
///          labels.
///
/// exits    one network with early exits may lie over all tiers, in place of one on each (exits.h): only samples
///          that do not leave at the exits of end devices get a second answer, and only those that do not leave at
///          the exits of edge servers either, where these have any, a third one.
///
/// faults  as a fault policy says (fault_policy.h). A task counts once however often it is answered, so that every
///         image has exactly one first answer and, where the scheduler asks for it, one second; of one network with
///         exits one more exactly if it stayed with the one before.
Status run_tiers(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
