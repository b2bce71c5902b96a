#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"
#include "mangrove/cli/board.h"
#include "mangrove/cli/reports/bench_report.h"

namespace mangrove::cli {

struct BenchOptions {
  Seconds seconds = 120;  // for all of it, about
  int threads = 1;        // measured besides one thread
  std::string backend;    // a name of backend_names()
  std::stop_token stop = {};
  /// Called before each case is measured, with "3 of 20: inference lenet, 1 thread"
  std::function<void(const std::string& what, Seconds expected)> begin;
  /// Called after each case, with all that is known by then. An error ends the measurement.
  std::function<Status(const BenchReport&)> keep;
};

/// Measures this machine: a matrix product, a memory copy, and networks of the zoo with their initial weights on random
/// samples, on one thread for two thirds of the time and then on several. Each case has an equal share of what is left
/// of that when it begins. What the engine refuses, or is too slow for its
/// share, is left out with its reason.
/// report: holds what is known of the machine and program, and gets the rest; when the run is cancelled, all that was
/// measured until then.
/// errors: cancelled (a stop was requested), those of `keep`.
Status measure_board(const BenchOptions& options, BenchReport& report);

/// What makes figures doubtful before anything is measured: other work, and a clock that is kept low. Sentences.
/// load: of load_average().
std::vector<std::string> doubts(const Board& board, std::optional<double> load);

}  // namespace mangrove::cli
