#include "mangrove/learn/network_speed.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mangrove/base/random.h"
#include "mangrove/engine/load_parameters.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/replica.h"

namespace mangrove::learn {
namespace {

constexpr std::size_t kInferenceBatches = 4;

/// With normally distributed samples of the graph's input, and labels of so many classes (0: no labels).
std::vector<data::Batch> random_batches(const Graph& graph, std::int64_t rows, std::int64_t classes,
                                        std::size_t count) {
  Random random(1);
  std::vector<std::int64_t> dims = graph.inputs()[0].second.shape.dims();
  dims[0] = rows;
  std::vector<data::Batch> batches(count);
  for (data::Batch& made : batches) {
    made.images = Tensor(DType::f32, Shape(dims));
    for (float& pixel : made.images.as<float>()) pixel = static_cast<float>(random.normal());
    for (std::int64_t i = 0; i < rows && classes > 0; ++i)
      made.labels.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(classes))));
    made.count = rows;
  }
  return batches;
}

/// As many batches as a loader holds; large ones once.
std::size_t batches_held(Bytes batch_bytes) {
  return batch_bytes > MiB(1) ? 1 : 4;
}

Bytes batch_bytes(const Graph& graph, std::int64_t rows) {
  Bytes bytes = rows * kFloatBytes;
  const std::vector<std::int64_t>& dims = graph.inputs()[0].second.shape.dims();
  for (std::size_t i = 1; i < dims.size(); ++i) bytes *= dims[i];
  return bytes;
}

}  // namespace

Result<std::vector<Seconds>> measure_steps(const std::function<void(std::size_t)>& step, const StepLimits& limits,
                                           const Clock& clock) {
  std::vector<Seconds> steps;
  Instant before = clock.now();
  const Instant first_counted = before + limits.warm_up, end = first_counted + limits.seconds;
  for (std::size_t i = 0; before < end || steps.size() < limits.fewest; ++i) {
    step(i);
    if (limits.stop.stop_requested()) return make_error(Code::cancelled, "stopped");
    const Instant after = clock.now();
    const Seconds taken = after - before;
    if (i == 0 && taken * static_cast<double>(limits.fewest) > limits.most)
      return make_error(Code::deadline_exceeded, "too slow: the first step took " + format_seconds(taken) +
                                                     ", and there are " + format_seconds(limits.most) + " for " +
                                                     std::to_string(limits.fewest) + " steps");
    if (i > 0 && before >= first_counted) steps.push_back(taken);
    before = after;
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

double quantile(const std::vector<double>& sorted, double q) {
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[rank - 1];
}

Result<NetworkSpeed> measure_training(Graph graph, const SpeedOptions& options, const Clock& clock) {
  std::optional<Graph> source(std::move(graph));
  ReplicaOptions replica_options{.batch = options.batch, .backend = options.backend, .threads = options.threads};
  const Bytes of_batch = batch_bytes(*source, options.batch);
  const std::size_t held = batches_held(of_batch);
  if (options.memory) {
    const Bytes weights = source->parameter_elements() * kFloatBytes;  // and as much momentum
    replica_options.memory = MemoryBudget{.limit = *options.memory,
                                          .reserved = weights + static_cast<Bytes>(held) * of_batch,
                                          .released = weights,
                                          .resident = options.resident};
  }
  MG_TRY(const auto replica, Replica::create(*source, replica_options));
  source.reset();
  std::vector<Optimizer::Parameter> parameters;
  for (const auto& view : replica->execution().parameters()) parameters.push_back({view.value, view.gradient});
  MG_TRY(Optimizer optimizer, Optimizer::create({}, std::move(parameters)));
  const std::vector<data::Batch> batches = random_batches(replica->graph(), options.batch, replica->classes(), held);
  BatchStats stats;
  const auto step = [&](std::size_t i) {
    const data::Batch& batch = batches[i % batches.size()];
    stats = replica->compute_gradients(batch, 1.0f / static_cast<float>(batch.count));
    optimizer.step(0.01f, static_cast<std::int64_t>(i) + 1, options.threads);
  };
  MG_TRY(std::vector<Seconds> steps, measure_steps(step, options.steps, clock));
  const Program& program = replica->execution().program();
  return NetworkSpeed{.backend = std::string(program.backend().name()),
                      .steps = std::move(steps),
                      .planned = program.memory().total(),
                      .resident = options.resident(),
                      .loss = stats.loss / static_cast<double>(stats.count),
                      .plan = replica->plan()};
}

Result<NetworkSpeed> measure_inference(Graph graph, const SpeedOptions& options, const Clock& clock) {
  std::optional<Graph> source(std::move(graph));
  const std::string input = source->inputs()[0].first;
  MG_TRY(Optimized optimized, optimize(*source, {}));
  source = std::move(optimized.graph);
  CompileOptions compile_options;
  compile_options.batch = options.batch;
  compile_options.backend = options.backend;
  compile_options.threads = options.threads;
  MG_TRY(std::shared_ptr<const Program> program, Program::compile(source->without_weights(), compile_options));
  MG_TRY(const std::unique_ptr<Execution> execution, Execution::create(program, options.threads));
  MG_RETURN_IF_ERROR(load_parameters(*execution, *source));
  source.reset();
  const std::vector<data::Batch> batches = random_batches(program->graph(), options.batch, 0, kInferenceBatches);
  const auto step = [&](std::size_t i) {
    const auto images = batches[i % batches.size()].images.as<float>();
    std::copy(images.begin(), images.end(), execution->input<float>(input).begin());
    execution->forward();
  };
  MG_TRY(std::vector<Seconds> steps, measure_steps(step, options.steps, clock));
  return NetworkSpeed{.backend = std::string(program->backend().name()),
                      .steps = std::move(steps),
                      .planned = program->memory().total(),
                      .resident = options.resident()};
}

}  // namespace mangrove::learn
