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

/// How the samples of an epoch are mixed. "all" (also ""): 0, each may come at any time. "window(N)": N, files in
/// random order, so many samples from them at a time; see data::run_order. errors: invalid_argument (another text).
Result<std::uint32_t> shuffle_window(const TrainJob& job);

/// All that must be the same for a run to go on exactly where another stopped, one "key=value" per line.
std::string settings_text(const TrainJob& job, const Graph& graph, std::int64_t train_samples);

/// errors: invalid_argument: names every key that differs, with both values.
Status check_same_settings(const std::string& checkpoint, const std::string& job);

/// What the schedule of the learning rate goes by. It is settled when a run begins, by the workers that there are then,
/// and kept when the run is resumed with others.
struct StepBasis {
  std::int64_t samples_per_step = 0;
  float base_learning_rate = 0;
};
/// The settings with the pace behind them, as a checkpoint keeps them; and the pace from there.
/// check_same_settings does not compare paces. errors: data_loss (no pace).
std::string with_pace(const std::string& settings, const StepBasis& pace);
Result<StepBasis> pace_of(const std::string& settings);

/// The job's learning rate; where it is 0, the optimizer's own: 0.05 for each worker of SGD in all its forms, at most
/// for 6 of them, since a step of P workers averages P batches and can go as far (source: Goyal et al., Accurate, large
/// minibatch SGD, 2017, linear scaling rule); for Adam and its like 0.001 whatever the workers.
float base_learning_rate(const TrainJob& job, const learn::OptimizerRow& optimizer, std::size_t workers);

}  // namespace mangrove::train
