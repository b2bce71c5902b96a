#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mangrove/engine/execution.h"
#include "mangrove/graph/graph.h"

namespace mangrove::infer {

struct StageOptions {
  std::int64_t micro_batch = 32;
  std::string backend;  // "" takes the fastest
  int threads = 1;
  bool fuse = true;  // CompileOptions::fuse
};

/// Operators [first, last) of a graph, compiled for one node.
/// threads: one at a time.
class Stage {
 public:
  /// errors: those of Graph::slice and Program::compile; unimplemented (a value at the cut that is not f32: names it).
  static Result<std::unique_ptr<Stage>> create(const Graph& graph, std::size_t first, std::size_t last,
                                               const StageOptions& options);

  /// Runs on `count` <= micro_batch samples. `received` holds the values at the cut before the stage, one after the
  /// other (see graph/cut.h). Returns those at the cut after it, in the same way; they are valid until the next call.
  /// errors: data_loss (another number of elements than the cut has).
  Result<std::span<const float>> run(std::int64_t count, std::span<const float> received);

  /// f32 elements that run() wants for `count` samples.
  std::int64_t input_elements(std::int64_t count) const;

 private:
  struct Value {
    std::string name;
    ValueInfo info;
    bool here = false;  // of the values before: an input of the sub-graph; after: made by it
  };
  Stage() = default;
  StageOptions options_;
  std::vector<Value> before_, after_;
  std::unique_ptr<Execution> execution_;
  std::vector<float> sent_;
};

}  // namespace mangrove::infer
