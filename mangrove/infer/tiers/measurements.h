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

/// The tier of each rank, as its position in the job. A node named as a tier, or NAME-NUMBER, belongs to that tier. The
/// others fill the tiers up in the order of their ranks. A tier has at most as many devices as the job says, and
/// further ranks are left out. A rank without data goes only to tiers that do not need it, because values come with
/// their tasks.
std::map<net::Rank, std::size_t> tiers_of(const InferJob& job, const std::map<net::Rank, std::string>& names,
                                          const net::RankSet& without_data);

/// Lets each rank do a few tasks of its tier, all ranks at the same time, and measures them. A rank that is lost or
/// silent is left out. data: that of all nodes. Bottom models are computed before and are not part of the times. Tasks
/// for samples that stayed at an exit have a full batch of zeros. errors: those of NodeRoster::next and
/// BottomModels::run; unavailable (no rank has finished after ten timeouts).
Result<std::vector<TierDispatch::Device>> measure_tiers(const InferJob& job, job::RoleContext& context,
                                                        NodeRoster& nodes, BottomModels& bottom_models,
                                                        const TierExits& exits, const Hello& data,
                                                        const std::map<net::Rank, std::size_t>& tiers, Seconds timeout);

/// The command for a task. For an untrusted tier it has the values that replace the samples. errors: those of
/// BottomModels::run.
Result<Command> task_command(const InferJob& job, BottomModels& bottom_models, const Hello& data, const TierTask& task,
                             std::size_t part);

/// Means over the devices of each tier. Rank 0 computes a bottom model in h seconds before a task is sent, one after
/// the other. So a task of a tier with n devices is on its way for h longer, and takes at least n h.
TierCosts costs_of(const InferJob& job, const BottomModels& bottom_models, std::size_t batches,
                   const std::vector<TierDispatch::Device>& devices);

}  // namespace mangrove::infer
