#pragma once

#include <map>
#include <string>
#include <vector>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/nodes.h"
#include "mangrove/infer/tier_dispatch.h"

namespace mangrove::infer {

/// Which of the job's tiers each rank is on: nodes named as a tier, or NAME-NUMBER, are of it; the others fill the
/// tiers up in the order of the ranks. At most as many as the job says; ranks that are too many are left out.
std::map<net::Rank, std::size_t> tiers_of(const InferJob& job, const std::map<net::Rank, std::string>& names);

/// Has each rank do a few tasks of its tier, all ranks at the same time, and takes their times. One that is lost or
/// silent is not among the results. errors: those of Nodes::next; unavailable (none has done it in ten timeouts).
Result<std::vector<TierDispatch::Device>> measure_tiers(const InferJob& job, net::RoleContext& context, Nodes& nodes,
                                                        const std::map<net::Rank, std::size_t>& tiers, Seconds timeout);

/// The command for a task. request: above 0, only its times are wanted.
Command task_command(const InferJob& job, const Hello& data, const TierTask& task, std::size_t part,
                     std::uint64_t request = 0);

Tier tier_of(const TierPart& part);

/// Means of the devices of each tier.
TierCosts costs_of(const InferJob& job, std::size_t batches, const std::vector<TierDispatch::Device>& devices);

}  // namespace mangrove::infer
