#include "mangrove/serve/stepped_network.h"

#include <fmt/format.h>

#include <utility>

#include "mangrove/base/clock.h"
#include "mangrove/base/format.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/exits/early_exit.h"

namespace mangrove::serve {
namespace {

constexpr Bytes kCopiesOfWeights = 2;  // those of the graph, and those that are compiled

Status check_steps(const Graph& graph) {
  if (!has_early_exits(graph)) return make_error(Code::unimplemented, "the network has no early exits");
  if (graph.inputs().size() != 1 || graph.inputs().front().second.dtype != DType::f32)
    return make_error(Code::unimplemented, "the network has not one input of FP32, so it has one answer only");
  return {};
}

Bytes weights_of(const Graph& graph) {
  Bytes bytes = 0;
  for (const auto& [name, tensor] : graph.initializers()) bytes += tensor.bytes();
  return bytes;
}

}  // namespace

Result<std::shared_ptr<SteppedNetwork>> SteppedNetwork::create(const Graph& graph, const ModelOptions& options,
                                                               Bytes taken) {
  MG_RETURN_IF_ERROR(check_steps(graph));
  const Bytes needed = kCopiesOfWeights * weights_of(graph);
  if (options.memory > 0 && taken + needed > options.memory)
    return make_error(Code::unimplemented,
                      fmt::format("exits one by one take {} more, beside {}; the limit is {}", format_bytes(needed),
                                  format_bytes(taken), format_bytes(options.memory)));
  MG_TRY(const Optimized optimized, optimize(graph, {.mode = Mode::inference}));
  MG_TRY(auto segments, exits::make_exit_segments(optimized.graph, {.micro_batch = 1,
                                                                    .backend = options.backend,
                                                                    .threads = static_cast<int>(options.threads)}));
  return std::shared_ptr<SteppedNetwork>(new SteppedNetwork(graph.without_weights(), std::move(segments)));
}

Result<std::optional<std::vector<float>>> SteppedNetwork::thresholds(const std::string& text) const {
  return exits::choose_exit_thresholds(text, shape_);
}

Result<SteppedNetwork::Step> SteppedNetwork::compute(std::size_t exit, std::vector<float>& values) {
  const SteadyClock clock;
  const Instant asked = clock.now();
  const MutexLock lock(mutex_);
  const Instant began = clock.now();
  MG_TRY(const exits::ExitSegment::Outcome outcome,
         segments_[exit]->run(1, values, -1));  // below any entropy: whether it leaves is decided elsewhere
  Step step{.logits = {outcome.logits.begin(), outcome.logits.end()},
            .entropy = outcome.entropies.front(),
            .waited = began - asked};
  values.assign(outcome.passed.begin(), outcome.passed.end());
  step.computed = clock.now() - began;
  return step;
}

}  // namespace mangrove::serve
