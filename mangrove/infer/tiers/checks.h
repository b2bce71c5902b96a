#pragma once

#include <string>

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"

namespace mangrove::infer {

/// Checks that the tiers, scheduler, policy and goal of a job fit each other, and that the values of a task fit into a
/// message. errors: invalid_argument (names the key).
Status check_tiers(const InferJob& job);

/// Checks that the running job can switch to that scheduler. errors: failed_precondition (a job without tiers);
/// invalid_argument (unknown scheduler, or it needs a tier that does not exist).
Status check_switch(const InferJob& job, const std::string& scheduler);

/// Checks that each tier's network fits the data of the nodes. errors: invalid_argument (names the tier), those of
/// reading the networks.
Status check_networks(const InferJob& job, const Hello& data);

}  // namespace mangrove::infer
