#pragma once

#include <nlohmann/json_fwd.hpp>

#include "mangrove/cluster/cluster.pb.h"

namespace mangrove::cli {

/// A job of a cluster, for programs (docs/json.md).
nlohmann::json job_status_json(const cluster::JobStatus& job);

}  // namespace mangrove::cli
