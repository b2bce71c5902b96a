#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/graph/graph.h"
#include "mangrove/learn/memory_budget.h"

namespace mangrove::learn {

/// How long steps are measured.
struct StepLimits {
  Seconds warm_up = 0.5;   // steps that begin in this time do not count; the first step never counts
  Seconds seconds = 5;     // of steps that count
  std::size_t fewest = 5;  // steps that count, even where they take longer than `seconds`
  Seconds most = std::numeric_limits<double>::infinity();  // that `fewest` steps may take, judged by the first step
  std::stop_token stop = {};
};

/// Calls step(0), step(1) ... and returns the seconds of each step that counts, in ascending order.
/// errors: deadline_exceeded (one step is so slow that `fewest` steps take longer than limits.most), cancelled.
Result<std::vector<Seconds>> measure_steps(const std::function<void(std::size_t)>& step, const StepLimits& limits,
                                           const Clock& clock);

/// The smallest of the sorted values that a share q of them, 0 < q <= 1, does not exceed (the nearest rank). There is
/// at least one value.
double quantile(const std::vector<double>& sorted, double q);

/// How a network is measured.
struct SpeedOptions {
  std::int64_t batch = 1;
  std::string backend = {};  // "": the fastest
  int threads = 1;
  std::optional<Bytes> memory = {};                           // training: the budget of the process, if it has one
  std::function<Bytes()> resident = [] { return Bytes{0}; };  // memory of the process, now; 0: not known
  StepLimits steps = {};
};

/// How fast a network is trained or run, and in how much memory.
struct NetworkSpeed {
  std::string backend;
  std::vector<Seconds> steps;            // of one batch each, in ascending order; at least one
  Bytes planned = 0;                     // memory of the compiled program
  Bytes resident = 0;                    // of the process after the last step, as SpeedOptions::resident says
  std::optional<double> loss = {};       // training: mean over the last batch
  std::optional<ProcessPlan> plan = {};  // training within a budget
};

/// Trains a classifier as users do, with a Replica and SGD with momentum, on random samples: the same few batches again
/// and again. The graph's memory is released before the first step.
/// errors: those of Replica::create and measure_steps.
Result<NetworkSpeed> measure_training(Graph graph, const SpeedOptions& options, const Clock& clock);

/// Runs a network of one f32 input, rewritten for inference, on random samples. A step copies the samples in, too. The
/// graph's memory is released before the first step.
/// errors: those of optimize, Program::compile, Execution::create and measure_steps.
Result<NetworkSpeed> measure_inference(Graph graph, const SpeedOptions& options, const Clock& clock);

}  // namespace mangrove::learn
