#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/cli/sources/sample_source.h"

namespace mangrove::cli {

struct PredictOptions {
  std::int64_t batch = 1;  // samples per forward pass, where the model leaves the batch open
  std::string backend;
  int threads = 1;
  std::set<std::string> disabled_passes = {};              // see OptimizeOptions, and kFusePass
  std::optional<std::vector<float>> exit_thresholds = {};  // nothing: all outputs of all samples
  std::vector<float> exit_shares = {};  // with exit_thresholds: to be kept, see infer::ExitKeeper; none: they stay
};

struct Predictions {
  std::vector<std::pair<std::string, Tensor>> outputs;  // of all samples, in the order of the graph
  std::vector<Status> read;  // of each sample; outputs of one not read are NaN, or 0 where they are integers
  // with exit_thresholds
  std::vector<std::int32_t> exits = {};          // that each sample left at, from 0
  std::vector<std::int64_t> left_at_exits = {};  // samples, of each exit
  std::vector<float> exit_thresholds = {};       // at the end
  Seconds seconds = 0;                           // reading samples and running the network, compiled before
};

/// Samples of one forward pass: as many as wanted and there, or as the model has it, where its shapes are fixed.
std::int64_t samples_per_pass(const Graph& graph, const SampleSource& source, std::int64_t wanted);

/// Runs a model on all samples of a source. `progress` is told after each forward pass how many are done.
/// With exit_thresholds each sample runs as far as the exit where it leaves; the only output is then the last one's
/// name with the logits of that exit. errors: those of optimize, Program::compile, Execution::create and
/// SampleSource::fill; invalid_argument: an output without a batch, of which several passes would leave only the last;
/// cancelled. With exit_thresholds also those of infer::EarlyExit.
Result<Predictions> run_model(const Graph& graph, const SampleSource& source, const PredictOptions& options,
                              const std::function<void(std::int64_t done)>& progress, std::stop_token stop);

}  // namespace mangrove::cli
