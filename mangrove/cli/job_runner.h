#pragma once

#include <nlohmann/json_fwd.hpp>
#include <stop_token>

#include "mangrove/base/result.h"
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
};

/// Runs the job on its cluster; leaves model, metrics and checkpoints in the run folder; shows progress. The result is
/// the job's JSON object (docs/json.md).
Result<nlohmann::json> run_train(const TrainSettings& settings, JobContext& context);
Result<nlohmann::json> run_infer(const InferSettings& settings, JobContext& context);
/// A job that was sent before: what it still reports, and its result.
Result<nlohmann::json> follow_job(cluster::Client& client, const std::string& id, JobContext& context);
/// In this process, without a cluster.
Result<nlohmann::json> run_eval(const EvalSettings& settings, std::stop_token stop);

}  // namespace mangrove::cli
