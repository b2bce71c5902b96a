#pragma once

#include <map>
#include <string>
#include <vector>

#include "mangrove/engine/execution.h"

namespace mangrove {

/// The backends of this build but for the reference, "portable".
std::vector<std::string> fast_backends();

/// What one training step of a graph computes, plain.
struct StepOutcome {
  std::map<std::string, std::vector<float>> outputs;
  std::map<std::string, std::vector<float>> gradients;  // of parameters and graph inputs
};

/// Compiles for training with gradients of the inputs; the test fails and null comes back where that does not work.
std::unique_ptr<Execution> make_execution(const Graph& graph, const std::string& backend, std::int64_t batch,
                                          bool fuse = true, int threads = 1);

/// Forward and backward on inputs and output gradients drawn from the seed, in [-1, 1].
StepOutcome run_step(Execution& execution, std::uint64_t seed);

/// Every tensor of `found` equals that of `expected` to `tolerance` times its largest element.
void expect_close(const StepOutcome& found, const StepOutcome& expected, double tolerance);

/// A tensor of uniform values in [-1, 1] times `scale`.
Tensor random_tensor(const Shape& shape, std::uint64_t seed, float scale = 1);

}  // namespace mangrove
