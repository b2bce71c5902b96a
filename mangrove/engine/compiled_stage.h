#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mangrove/engine/execution.h"
#include "mangrove/engine/load_parameters.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

struct CompiledStageOptions {
  std::int64_t micro_batch = 32;
  std::string backend = {};  // "" takes the fastest
  int threads = 1;
  bool fuse = true;          // CompileOptions::fuse
  bool timing_only = false;  // CompileOptions::timing_only

  /// With which a program for `batch` samples is compiled.
  CompileOptions for_batch(std::int64_t batch) const;
};

/// Sets the parameters of an execution of this part of a graph. errors: of whoever does it.
using LoadParameters = std::function<Status(Execution& execution, const Graph& part)>;

/// Operators [first, last) of a graph, compiled for one node.
/// threads: one at a time.
class CompiledStage {
 public:
  /// load: if the graph's own parameters are not the ones to load. errors: those of Graph::slice, Program::compile and
  /// `load`; unimplemented (a value at the cut that is not f32: names it).
  static Result<std::unique_ptr<CompiledStage>> create(const Graph& graph, std::size_t first, std::size_t last,
                                                       const CompiledStageOptions& options,
                                                       const LoadParameters& load = load_parameters);

  /// Floating-point operations of the matrix products of a run, which computes micro_batch samples: see multiply_adds.
  double flops() const { return flops_; }

  /// f32 elements at the cut before the stage for `count` samples.
  std::int64_t input_elements(std::int64_t count) const;

  /// Where run() takes the values at the cut before the stage from, one after the other (see graph/cut.h): to be filled
  /// anew before each run. count: 1 to micro_batch.
  std::span<float> input(std::int64_t count);

  /// Runs on the `count` samples whose values input(count) holds. Returns the values at the cut after the stage, in the
  /// same way; they are valid until the next call of input() or run().
  std::span<const float> run(std::int64_t count);

 private:
  struct Value {
    std::string name;
    ValueInfo info;
    bool here = false;  // of the values before: an input of the sub-graph; after: made by it
  };
  CompiledStage() = default;
  using ByName = std::map<std::string, std::span<const float>>;
  ByName spread(std::int64_t count);
  std::span<const float> made(const Value& value, std::int64_t count) const;

  CompiledStageOptions options_;
  double flops_ = 0;
  std::vector<Value> before_, after_;
  std::unique_ptr<Execution> execution_;
  // Where a cut has one value and nothing passes through the stage, it is received and sent where the operators have
  // it.
  bool direct_input_ = false, direct_output_ = false;
  std::vector<float> received_, sent_;  // otherwise
};

}  // namespace mangrove
