#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/compress/histogram.h"
#include "mangrove/engine/execution.h"
#include "mangrove/graph/graph.h"

namespace mangrove::compress {

/// Runs a float graph and counts what its values are.
/// threads: one at a time.
class Calibrator {
 public:
  /// batch, backend, threads: of CompileOptions.
  /// values: f32 inputs of the graph and results of its nodes.
  /// errors: those of Graph::create, Program::compile and Execution::create.
  static Result<Calibrator> create(const Graph& graph, const std::vector<std::string>& values,
                                   const CompileOptions& options);

  /// Its inputs are to be written before observe(); all rows count.
  Execution& execution() { return *execution_; }
  /// One forward pass. errors: failed_precondition (a value is infinite or not a number; names it).
  Status observe();

  const std::map<std::string, Histogram>& histograms() const { return histograms_; }

 private:
  Calibrator(std::unique_ptr<Execution> execution, const std::vector<std::string>& values);

  std::unique_ptr<Execution> execution_;
  std::map<std::string, Histogram> histograms_;
};

}  // namespace mangrove::compress
