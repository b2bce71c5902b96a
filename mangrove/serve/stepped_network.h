#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/exits/segment.h"
#include "mangrove/graph/graph.h"
#include "mangrove/serve/model_options.h"

namespace mangrove::serve {

/// A network with early exits, computed exit by exit for one sample, so that whoever asks has the answer of each exit
/// before the next one is computed. It is compiled when it is first asked. Keeps the weights of the graph, and has
/// another copy of them once it is compiled.
/// source: Teerapittayanon, McDanel & Kung, BranchyNet, ICPR 2016, algorithm 1.
/// threads: any thread may call any method; one exit of one sample is computed at a time.
class SteppedNetwork {
 public:
  /// errors: unimplemented (no early exits, several inputs, an input that is not f32, values between exits that are not
  /// f32, weights that take more than options.memory leaves beside `taken` bytes; says which); those of optimize() and
  /// exits::make_exit_segments().
  static Result<std::shared_ptr<SteppedNetwork>> create(const Graph& graph, const ModelOptions& options, Bytes taken);

  /// At which normalised entropies a sample leaves, for each exit but the last: see exits::choose_exit_thresholds().
  /// Nothing: it goes on to the last exit. errors: those of choose_exit_thresholds().
  Result<std::optional<std::vector<float>>> thresholds(const std::string& text) const;

  struct Step {
    std::vector<float> logits;
    float entropy = 0;   // normalised
    Seconds waited = 0;  // for other samples
    Seconds computed = 0;
  };
  /// Computes one sample from the exit before to `exit` (from 0). values: the network's input, or what the call for the
  /// exit before has left there; afterwards what the next exit needs. errors: those of exits::ExitSegment::run().
  Result<Step> compute(std::size_t exit, std::vector<float>& values);

  /// The names of the outputs, by exit.
  const std::vector<std::string>& exits() const { return shape_.outputs(); }

 private:
  SteppedNetwork(Graph shape, std::vector<std::unique_ptr<exits::ExitSegment>> segments)
      : shape_(std::move(shape)), segments_(std::move(segments)) {}

  const Graph shape_;  // without weights
  Mutex mutex_;
  const std::vector<std::unique_ptr<exits::ExitSegment>> segments_ MG_GUARDED_BY(mutex_);
};

}  // namespace mangrove::serve
