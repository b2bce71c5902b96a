#pragma once

#include <stop_token>

#include "mangrove/cli/cluster_session.h"
#include "mangrove/cli/run_folder.h"
#include "mangrove/cli/settings.h"

namespace mangrove::cli {

/// Where jobs of one command run, what they leave and what they show.
struct JobContext {
  ClusterSession& session;
  RunFolder& folder;
  OutputOptions output;
  std::stop_token stop;
  bool is_embedded = false;  // nodes share this machine: how many of them to use says little of boards
};

}  // namespace mangrove::cli
