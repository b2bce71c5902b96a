#pragma once

#include <functional>
#include <optional>

#include "mangrove/base/result.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::cluster {

/// The job as the nodes get it, where that is another: networks for inference are named by their SHA-256, and fetched
/// by who does not have them.
std::optional<JobSpec> job_of_nodes(const JobSpec& job);

/// The part of each of its nodes that the job takes: more than 0, at most 1.
double share_of(const JobSpec& job);

/// Plays one rank of a job to its end. errors: those of the job; cancelled (it was stopped).
using RoleMain = std::function<Status(const JobSpec&, job::RoleContext&)>;

/// Runs the job's strategy: train::run_training or infer::run_inference. errors: theirs; invalid_argument (a job of
/// neither kind).
Status run_role(const JobSpec& job, job::RoleContext& context);

/// The same with `play`, and with what it throws turned into an error: memory is a budget that a model can exceed on a
/// small device, and one job must not end a process that runs for months.
Status run_role_guarded(const RoleMain& play, const JobSpec& job, job::RoleContext& context);

}  // namespace mangrove::cluster
