#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>

#include "mangrove/base/report.h"
#include "mangrove/base/result.h"
#include "mangrove/cli/job_context.h"
#include "mangrove/cluster/cluster.pb.h"
#include "mangrove/data/data_folder.h"

namespace mangrove::cli {

/// Plays a job to its end; what it reports goes to the function. errors: those of the job.
using JobRunner = std::function<Status(const cluster::JobSpec& job, const Reporter& report)>;

/// Runs the job on its cluster, or where the player plays it; leaves model, metrics and checkpoints in the run folder;
/// shows progress. The result is the job's JSON object (docs/json.md).
Result<nlohmann::json> run_train(const TrainSettings& settings, JobContext& context, const JobRunner& player = {});
Result<nlohmann::json> run_infer(const InferSettings& settings, JobContext& context, const JobRunner& player = {});
/// The job of a training in one phase, for a running cluster, without running it. errors: those of the keys;
/// not_found (the data are not in the folder: nothing is downloaded).
Result<cluster::JobSpec> train_job(const TrainSettings& settings, const data::DataFolder& data_folder);
/// A job that was sent before: what it still reports, and its result.
Result<nlohmann::json> follow_job(cluster::Client& client, const std::string& id, JobContext& context);
/// In this process, without a cluster.
Result<nlohmann::json> run_eval(const EvalSettings& settings, const OutputOptions& output, std::stop_token stop);

}  // namespace mangrove::cli
