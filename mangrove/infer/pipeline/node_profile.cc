#include "mangrove/infer/pipeline/node_profile.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "mangrove/base/log.h"
#include "mangrove/base/median.h"
#include "mangrove/data/batch_rows.h"
#include "mangrove/graph/multiply_adds.h"
#include "mangrove/plan/graph_layers.h"
#include "mangrove/plan/measure.h"
#include "mangrove/plan/operator_memory.h"
#include "mangrove/plan/operator_times.h"
#include "mangrove/plan/profile_cache.h"

namespace mangrove::infer {
namespace {

constexpr int kRepeats = 9;

/// Samples [begin, begin + count) of a data set, read on this thread.
Result<data::Batch> read_batch(const SampleSource& source, std::int64_t begin, std::int64_t count) {
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(begin));
  MG_TRY(data::Batch batch, data::empty_batch(*source.dataset, source.loading, indices));
  for (std::size_t first = 0; first < indices.size(); first += data::kRowBlock) {
    const std::size_t last = std::min(first + data::kRowBlock, indices.size());
    if (auto problem = data::fill_rows(*source.dataset, source.loading, indices, 0, first, last, batch))
      return problem->error;
  }
  return batch;
}

Result<Seconds> measure_reading(const SampleSource& source, std::int64_t batch, const job::Device& device) {
  const std::int64_t count = std::min(source.samples, batch);
  std::vector<Seconds> times;
  for (int i = 0; i < kRepeats; ++i) {
    const Seconds start = device.computed_by_thread();
    MG_RETURN_IF_ERROR(read_batch(source, std::min(i * count, source.samples - count), count));
    times.push_back(device.computed_by_thread() - start);
  }
  return median(std::move(times)) * device.slowdown(1);
}

/// Runs the network on real samples: its inputs are such, and everything is warm, and in memory.
Status warm_up(learn::Replica& replica, const SampleSource& source) {
  MG_TRY(const data::Batch batch, read_batch(source, 0, std::min(source.samples, replica.batch())));
  replica.predict(batch);
  return {};
}

/// Whose samples are read. Images that a client pushes are such as no data set has.
std::string data_of(const InferJob& job) {
  if (job.frame_values()) return "values";
  return job.frames() ? "frames" : job.data();
}

/// The present memory of the device's process, without the values and weights that it holds of the program.
Bytes process_memory(Bytes held, job::Device& device) {
  device.release_freed_memory();
  return std::max<Bytes>(0, device.resident_memory() - held);
}
Bytes needed_memory(Bytes held, const job::Device& device) {
  return std::max<Bytes>(0, device.needed_memory() - held);
}

/// Everything but times, `data` and `process`.
plan::Profile outline(const InferJob& job, const Program& program, int threads) {
  plan::Profile profile;
  profile.model = program.graph().name();
  profile.backend = program.backend().name();
  profile.batch = job.micro_batch();
  profile.threads = threads;
  profile.operators = plan::operators_of(program.graph(), job.micro_batch());
  plan::set_memory(profile, program);
  return profile;
}

using Times = std::vector<Seconds>;

Times seconds_of(const std::vector<NodeTime>& times, const job::RoleContext& context) {
  const double stretch = plan::operator_stretch(context.threads, context.device.slowdown(1));
  Times seconds;
  for (const NodeTime& time : times) seconds.push_back(time.seconds * stretch);
  return seconds;
}

/// Of a simulated device: the time that the whole network takes by its clock, dealt out by FLOPs.
Times simulated_times(const InferJob& job, const Graph& graph, const job::RoleContext& context) {
  const auto all = static_cast<double>(multiply_adds(graph, job.micro_batch()));
  const Instant start = context.clock.now();
  context.device.charge(2 * all);
  const Seconds taken = context.clock.now() - start;
  Times seconds;
  for (const Node& node : graph.nodes()) {
    const auto share = static_cast<double>(multiply_adds(graph, node, job.micro_batch()));
    seconds.push_back(all > 0 ? taken * share / all : 0);
  }
  return seconds;
}

/// Operators [first, last) of a graph, with any weights.
Result<Times> measure_piece(const Program& whole, std::size_t first, std::size_t last,
                            const job::RoleContext& context) {
  MG_TRY(const Graph piece, whole.graph().slice(first, last));
  MG_TRY(auto program, Program::compile(piece.without_weights(), whole.options()));
  MG_TRY(const auto execution, Execution::create(std::move(program), context.threads));
  constexpr float kSome = 0.01f;  // zeros that were never written would all come from one page
  for (const Execution::ParameterView& parameter : execution->parameters()) std::ranges::fill(parameter.value, kSome);
  for (const auto& [name, info] : piece.inputs())
    if (info.dtype == DType::f32) std::ranges::fill(execution->input<float>(name), kSome);
  execution->forward();
  return seconds_of(execution->profile_forward(kRepeats), context);
}

/// Pieces of as many operators as take this memory, or one layer (plan::fused_layers).
Result<Times> measure_pieces(const Program& whole, Bytes memory, const job::RoleContext& context) {
  const std::vector<std::size_t> layer = plan::fused_layers(whole.graph());
  const std::vector<NodeMemory>& needed = whole.node_memory();
  Times all;
  for (std::size_t first = 0, last = 0; first < layer.size(); first = last) {
    Bytes weights = needed[last].weights, arena = needed[last].arena;
    for (++last; last < layer.size(); ++last) {
      weights += needed[last].weights;
      arena = std::max(arena, needed[last].arena);
      if (weights + arena > memory && layer[last] != layer[last - 1]) break;
    }
    MG_TRY(const Times times, measure_piece(whole, first, last, context));
    all.insert(all.end(), times.begin(), times.end());
    context.device.release_freed_memory();
  }
  return all;
}

Profile message_of(const plan::Profile& profile) {
  Profile message;
  for (const plan::OperatorProfile& one : profile.operators) {
    message.add_operator_seconds(one.forward);
    message.add_operator_weights(one.weights);
    message.add_operator_memory(one.memory);
  }
  message.set_read_seconds(profile.read);
  return message;
}

/// Whether it has all operators of the network, in their order.
bool fits(const plan::Profile& profile, const Graph& graph) {
  return std::ranges::equal(profile.operators, graph.nodes(), {}, &plan::OperatorProfile::name, &Node::name);
}

/// held: memory of the program that the process takes. measure: gives the time of each operator.
Result<Profile> profile_of(const InferJob& job, const job::RoleContext& context, const Program& program, Bytes held,
                           const SampleSource& source, const std::function<Result<Times>()>& measure) {
  const plan::ProfileCache kept(context.data_folder.path());
  const plan::ProfileKey key{.network = job.model_sha256(),
                             .device = context.device.description(),
                             .backend = std::string(program.backend().name()),
                             .batch = job.micro_batch(),
                             .threads = context.threads,
                             .fused = !job.unfused()};
  const bool is_simulated = context.device.is_simulated();
  std::optional<plan::Profile> profile = job.fresh() || is_simulated ? std::nullopt : kept.find(key);
  if (profile && !fits(*profile, program.graph())) profile.reset();
  const bool was_kept = profile.has_value();
  if (!was_kept) {
    profile = outline(job, program, context.threads);
    profile->process = process_memory(held, context.device);
    MG_TRY(const Times times, measure());
    for (std::size_t i = 0; i < times.size(); ++i) profile->operators[i].forward = times[i];
  }
  if (!is_simulated && (!was_kept || profile->data != data_of(job))) {
    MG_TRY(profile->read, measure_reading(source, job.micro_batch(), context.device));
    profile->device = key.device;
    profile->data = data_of(job);
    const Status done = kept.keep(key, *profile);  // a full card is no reason not to work
    if (!done.ok()) log_warn("the profile is not kept for the next time", {{"message", done.error().message}});
  }
  Profile message = message_of(*profile);
  message.set_process(process_memory(held, context.device));
  message.set_needed(needed_memory(held, context.device));
  message.set_was_kept(was_kept);
  return message;
}

}  // namespace

Result<Profile> profile_node(const InferJob& job, const job::RoleContext& context, learn::Replica& replica,
                             const SampleSource& source) {
  const Program& program = replica.execution().program();
  if (context.device.is_simulated())
    return profile_of(job, context, program, 0, source,
                      [&]() -> Result<Times> { return simulated_times(job, program.graph(), context); });
  MG_RETURN_IF_ERROR(warm_up(replica, source));
  return profile_of(job, context, program, program.memory().total(), source, [&]() -> Result<Times> {
    return seconds_of(replica.execution().profile_forward(kRepeats), context);
  });
}

Result<Profile> profile_pieces(const InferJob& job, const job::RoleContext& context, const Program& program,
                               const SampleSource& source) {
  constexpr int kParts = 2;  // of the free memory, for a piece
  const Bytes memory = (context.device.usual_memory() - context.device.needed_memory()) / kParts;
  return profile_of(job, context, program, 0, source, [&]() -> Result<Times> {
    if (context.device.is_simulated()) return simulated_times(job, program.graph(), context);
    return measure_pieces(program, memory, context);
  });
}

}  // namespace mangrove::infer
