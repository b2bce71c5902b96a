#include "mangrove/train/pipeline/stage_profile.h"

#include <algorithm>
#include <numeric>

#include "mangrove/graph/multiply_adds.h"
#include "mangrove/plan/measure.h"
#include "mangrove/train/pipeline/cut.h"
#include "mangrove/train/pipeline/plan.h"

namespace mangrove::train {
namespace {

constexpr Seconds kMeasuring = 0.2;  // of a part, or the fewest runs

/// Of about equal computed cost.
std::vector<StageRange> profiled_parts(const Graph& graph, std::int64_t samples, std::int64_t wanted) {
  const std::vector<double> costs = computed_costs(graph, samples);
  const double share = std::accumulate(costs.begin(), costs.end(), 0.0) / static_cast<double>(wanted);
  std::vector<StageRange> parts = {{0, 0}};
  double sum = 0;
  for (const std::size_t position : cut_positions(graph)) {
    for (; parts.back().last < position; ++parts.back().last) sum += costs[parts.back().last];
    if (sum < share * static_cast<double>(parts.size()) || static_cast<std::int64_t>(parts.size()) == wanted) continue;
    parts.push_back({position, position});
  }
  parts.back().last = graph.nodes().size();
  return parts;
}

}  // namespace

Result<StageProfile> measure_stages(const Graph& graph, const ProfileOptions& options, const Clock& clock,
                                    const std::function<void(std::int64_t)>& progress) {
  const plan::MeasureOptions measuring{.batch = options.micro_batch,
                                       .threads = options.threads,
                                       .backend = options.backend,
                                       .training = true,
                                       .seconds = kMeasuring,
                                       .slowdown = options.slowdown};
  StageProfile profile;
  profile.set_slowdown(plan::operator_stretch(options.threads, options.slowdown));
  std::int64_t done = 0;
  for (const StageRange& range : profiled_parts(graph, options.micro_batch, options.parts)) {
    MG_TRY(const Graph slice, graph.slice(range.first, range.last));
    MG_TRY(const plan::Profile measured, plan::measure_profile(slice, measuring, clock));
    for (const plan::OperatorProfile& one : measured.operators) {
      profile.add_forward_s(one.forward);
      profile.add_backward_s(one.backward);
      profile.add_activations(one.memory);
    }
    progress(++done);
  }
  return profile;
}

StageProfile simulated_stages(const Graph& graph, std::int64_t micro_batch, const job::RoleContext& context) {
  StageProfile profile = computed_profile(graph, micro_batch);
  const Instant start = context.clock.now();
  context.device.charge(3 * 2.0 * static_cast<double>(multiply_adds(graph, micro_batch)));
  const Seconds taken = context.clock.now() - start;
  const auto sum = [](const auto& times) { return std::accumulate(times.begin(), times.end(), 0.0); };
  const double computed = sum(profile.forward_s()) + sum(profile.backward_s());
  if (taken <= 0 || computed <= 0) return profile;
  for (double& seconds : *profile.mutable_forward_s()) seconds *= taken / computed;
  for (double& seconds : *profile.mutable_backward_s()) seconds *= taken / computed;
  return profile;
}

}  // namespace mangrove::train
