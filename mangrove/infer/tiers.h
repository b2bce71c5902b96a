#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/net/role.h"

namespace mangrove::infer {

/// Whether the tiers, scheduler, policy and goal of a job fit each other, and what is sent with a task fits into a
/// message. errors: invalid_argument, naming the key.
Status check_tiers(const InferJob& job);

/// Whether the job, which runs, can be switched to that scheduler.
/// errors: failed_precondition (a job without tiers); invalid_argument (unknown, or it needs a tier that is not there).
Status check_switch(const InferJob& job, const std::string& scheduler);

/// Inference with a network on each tier: end devices classify every image, often coarsely, and edge servers or the
/// cloud replace each answer by a finer one, in the same stream of answers.
///
/// Rank 0 leads: it gives tasks, an answer to the images of one batch each, to devices as a scheduler says
/// (schedulers/scheduler.h), and keeps a few under way to each, as many as hide the way to it by what is measured.
/// Which rank is on which tier: nodes named as a tier, or NAME-NUMBER, are of it; the others fill up end, edge and
/// cloud in the order of their ranks; those that do not have the data only tiers that are not trusted.
///
/// switching  a user may have another scheduler take over (RoleContext::switched_to), at any time: it decides about all
///            answers that have not been given out, and those that are under way are taken as they come.
///
/// privacy  devices of a tier that is not trusted get in place of the samples what the first layers of their network
///          make of them (privacy.h); rank 0 reads the samples itself, computes these layers and keeps the labels.
///
/// faults  as a fault policy says (fault_policy.h). A task counts once however often it is answered, so that every
///         image is answered exactly once by the end devices and, where the scheduler asks for it, once by the others.
Status run_tiers(const InferJob& job, net::RoleContext& context);

}  // namespace mangrove::infer
