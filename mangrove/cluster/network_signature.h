#pragma once

#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/identity/identity.h"
#include "mangrove/identity/signature.h"

namespace mangrove::cluster {

/// The networks of a job that nodes get, a line for each: "model: SHA-256". It is the same text for the job as its
/// client sends it and as nodes get it (see job_of_nodes()). Networks that rank 0 alone computes are not in it.
std::string networks_text(const JobSpec& job);

/// Signs the networks of the job for its owner. errors: those of identity::sign_text().
Status sign_networks(JobSpec& job, const identity::Identity& owner);

/// Checks that a client or admin of one of these authorities has signed the networks of the job, and nothing else. So
/// neither a coordinator that mistakes one job for another nor a damaged file gives a node another network than its
/// owner meant. Networks that are named by their SHA-256 are checked against it when they come (infer::NetworkFetch).
/// errors: invalid_argument (not signed, or other networks: says which, and what was signed), permission_denied (signed
/// by somebody else), those of SignedText.
Status check_networks(const JobSpec& job, const std::vector<identity::Certificate>& authorities);

/// Checks the same for a job that came from `owner`, who must have signed it.
Status check_networks_of(const std::string& owner, const JobSpec& job,
                         const std::vector<identity::Certificate>& authorities);

}  // namespace mangrove::cluster
