#pragma once

#include <string>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"
#include "mangrove/train/hyperparameters.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// errors: not_found (an unknown strategy), invalid_argument (a value that makes no sense: names the key, the value and
/// what is allowed).
Status check_job(const TrainJob& job);

/// How the samples of an epoch are mixed. "all" (also ""): 0, any sample may come at any time. "window(N)": N, files
/// come in random order, and N samples from them are mixed at a time; see data::run_order. errors: invalid_argument
/// (another text).
Result<std::uint32_t> shuffle_window(const TrainJob& job);

/// The settings that must be equal for a run to go on exactly where another one stopped, one "key=value" per line.
std::string settings_text(const TrainJob& job, const Graph& graph, std::int64_t train_samples);

/// errors: invalid_argument: names every key that differs, with both values.
Status check_same_settings(const std::string& checkpoint, const std::string& job);

/// The pace of a run: the learning rate's schedule depends on it. It is settled when a run begins, from the workers at
/// that time, and kept when the run is resumed with others.
struct StepBasis {
  std::int64_t samples_per_step = 0;
  float base_learning_rate = 0;
};
/// with_pace() appends the pace to the settings, as a checkpoint keeps them; pace_of() reads it again.
/// check_same_settings ignores the pace. errors: data_loss (no pace).
std::string with_pace(const std::string& settings, const StepBasis& pace);
Result<StepBasis> pace_of(const std::string& settings);

/// The job's learning rate. If it is 0, the optimizer's own rate is used: its default_rate. Where that `scales`, it is
/// so much for each worker, but at most for 6 workers, because a step of P workers averages P batches and can be as
/// much larger (source: Goyal et al., Accurate, large minibatch SGD, 2017, linear scaling rule).
float base_learning_rate(const TrainJob& job, const learn::OptimizerRow& optimizer, std::size_t workers);
/// What that is for each optimizer, for people.
std::string default_rates_text();

}  // namespace mangrove::train
