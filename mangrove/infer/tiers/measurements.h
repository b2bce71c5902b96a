#pragma once

#include <map>
#include <string>
#include <vector>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/node_roster.h"
#include "mangrove/infer/tiers/bottom_models.h"
#include "mangrove/infer/tiers/dispatch.h"
#include "mangrove/infer/tiers/exits.h"

namespace mangrove::infer {

/// Which of the job's tiers each rank is on: nodes named as a tier, or NAME-NUMBER, are of it; the others fill the
/// tiers up in the order of the ranks. At most as many as the job says; ranks that are too many are left out. Those
/// without data go only to tiers that do not need it, as they get with each task what they need.
std::map<net::Rank, std::size_t> tiers_of(const InferJob& job, const std::map<net::Rank, std::string>& names,
                                          const net::RankSet& without_data);

/// Has each rank do a few tasks of its tier, all ranks at the same time, and takes their times. One that is lost or
/// silent is not among the results. data: what all have. Bottom models are computed before, and are not among the
/// times. Tasks for samples that stay at an exit are about a full batch of zeros. errors: those of NodeRoster::next and
/// BottomModels::run; unavailable (none has done it in ten timeouts).
Result<std::vector<TierDispatch::Device>> measure_tiers(const InferJob& job, job::RoleContext& context,
                                                        NodeRoster& nodes, BottomModels& bottom_models,
                                                        const TierExits& exits, const Hello& data,
                                                        const std::map<net::Rank, std::size_t>& tiers, Seconds timeout);

/// The command for a task, with what takes the place of its samples where the tier is not trusted.
/// errors: those of BottomModels::run.
Result<Command> task_command(const InferJob& job, BottomModels& bottom_models, const Hello& data, const TierTask& task,
                             std::size_t part);

/// Means of the devices of each tier. Rank 0 computes a bottom model in h before a task is on its way, one after the
/// other: so a task of a tier of n devices is on its way for h longer, and takes them at least n h.
TierCosts costs_of(const InferJob& job, const BottomModels& bottom_models, std::size_t batches,
                   const std::vector<TierDispatch::Device>& devices);

}  // namespace mangrove::infer
