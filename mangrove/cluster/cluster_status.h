#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/cluster/enrolment.pb.h"

namespace mangrove::cluster {

// What people and programs want to know of the state of a cluster.

/// Seconds a step of training, mean over the last few; all 0: no step yet.
StepSeconds recent_step(const NodeStatus& node);
/// What load and compute take of such a step.
Seconds load_and_compute(const NodeStatus& node);
/// The index of the node that holds the others up, see straggler().
std::optional<std::size_t> straggler_of(const ListNodesResponse& status);
/// "worker 2": what the node is in a job, and its rank there.
std::string role_text(const NodeRole& role, const ListNodesResponse& status);

struct RankedNode {
  std::string name;
  int rank;
};
/// The nodes of a job that runs.
std::vector<RankedNode> nodes_of(const std::string& job, const ListNodesResponse& status);

// The functions below write JSON; docs/json.md lists its keys.

/// The cluster at one moment: jobs, straggler, nodes, what was refused. coordinator: its address.
nlohmann::json cluster_json(const std::string& coordinator, const ListNodesResponse& status);
nlohmann::json job_json(const JobStatus& job);
/// How the title of a job begins that serves a model: see `mangrove serve --coordinator`.
inline constexpr const char* kServiceTitle = "serve ";
bool is_service(const JobStatus& job);
/// What else is known of a job that has not ended: share, roles, progress. Null: it has ended.
nlohmann::json live_job_json(const std::string& id, const ListNodesResponse& status);
nlohmann::json member_json(const MemberStatus& member);

}  // namespace mangrove::cluster
