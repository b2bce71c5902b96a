#pragma once

#include <string>

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"

namespace mangrove::infer {

/// Whether the tiers, scheduler, policy and goal of a job fit each other, and what is sent with a task fits into a
/// message. errors: invalid_argument, naming the key.
Status check_tiers(const InferJob& job);

/// Whether the job, which runs, can be switched to that scheduler.
/// errors: failed_precondition (a job without tiers); invalid_argument (unknown, or it needs a tier that is not there).
Status check_switch(const InferJob& job, const std::string& scheduler);

/// Whether each tier's network is one for the data, as the nodes have it. errors: invalid_argument (names the tier),
/// those of reading the networks.
Status check_networks(const InferJob& job, const Hello& data);

}  // namespace mangrove::infer
