#include "mangrove/plan/measure.h"

#include <algorithm>
#include <map>

#include "mangrove/base/random.h"
#include "mangrove/engine/load_parameters.h"
#include "mangrove/plan/operator_memory.h"
#include "mangrove/plan/operator_times.h"

namespace mangrove::plan {
namespace {

constexpr int kMostRuns = 1000;

void fill_randomly(const Graph& graph, Execution& execution, bool training) {
  Random random(1);
  const auto fill = [&](std::span<float> values) {
    for (float& value : values) value = static_cast<float>(random.normal());
  };
  for (const auto& [name, info] : graph.inputs())
    if (info.dtype == DType::f32 && !graph.initializers().contains(name)) fill(execution.input<float>(name));
  for (const std::string& name : graph.outputs())
    if (training && graph.value(name).dtype == DType::f32) fill(execution.output_gradient<float>(name));
}

/// As many runs as take about the wanted time.
int runs_for(Execution& execution, const MeasureOptions& options, const Clock& clock) {
  const auto run = [&] {
    execution.forward();
    if (options.training) execution.backward();
  };
  run();  // touches all memory before the time counts
  const Instant start = clock.now();
  run();
  const Seconds once = std::max(clock.now() - start, 1e-6);
  return static_cast<int>(std::clamp<double>(options.seconds / once, kFewestRuns, kMostRuns));
}

void set_times(Profile& profile, Execution& execution, int runs, double slowdown) {
  std::map<std::string, OperatorProfile*> by_name;
  for (OperatorProfile& one : profile.operators) by_name[one.name] = &one;
  const double stretch = operator_stretch(static_cast<int>(profile.threads), slowdown);
  if (!profile.training) {
    for (const NodeTime& time : execution.profile_forward(runs))
      by_name.at(time.node)->forward = time.seconds * stretch;
    return;
  }
  const std::vector<StepTime> steps = execution.profile_steps(runs);
  const std::size_t forward = execution.program().forward_steps().size();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto found = by_name.find(steps[i].node);
    if (found != by_name.end())
      (i < forward ? found->second->forward : found->second->backward) += steps[i].seconds * stretch;
  }
}

}  // namespace

double operator_stretch(int threads, double slowdown) {
  return threads == 1 ? slowdown : 1;
}

Result<Profile> measure_profile(const Graph& graph, const MeasureOptions& options, const Clock& clock) {
  MG_TRY(const auto program,
         Program::compile(graph.without_weights(), {.mode = options.training ? Mode::training : Mode::inference,
                                                    .batch = options.batch,
                                                    .backend = options.backend,
                                                    .threads = options.threads}));
  MG_TRY(const auto execution, Execution::create(program, options.threads));
  MG_RETURN_IF_ERROR(load_parameters(*execution, graph));
  fill_randomly(graph, *execution, options.training);
  Profile profile{graph.name(),     {}, std::string(program->backend().name()), options.batch, options.threads,
                  options.training, 0,  operators_of(graph, options.batch)};
  set_times(profile, *execution, runs_for(*execution, options, clock), options.slowdown);
  set_memory(profile, *program);
  const Bytes weights = graph.parameter_elements() * static_cast<Bytes>(sizeof(float));
  profile.process = std::max<Bytes>(0, options.resident() - program->memory().total() - weights);
  return profile;
}

}  // namespace mangrove::plan
