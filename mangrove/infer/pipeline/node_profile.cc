#include "mangrove/infer/pipeline/node_profile.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "mangrove/base/log.h"
#include "mangrove/base/median.h"
#include "mangrove/data/batch_rows.h"
#include "mangrove/graph/multiply_adds.h"
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

/// The present memory of the device's process, without the values and weights of the program.
Bytes process_memory(const Program& program, job::Device& device) {
  device.release_freed_memory();
  return std::max<Bytes>(0, device.resident_memory() - program.memory().total());
}

/// Everything but times, `data` and `process`.
plan::Profile outline(const InferJob& job, learn::Replica& replica, int threads) {
  const Program& program = replica.execution().program();
  plan::Profile profile;
  profile.model = replica.graph().name();
  profile.backend = program.backend().name();
  profile.batch = job.micro_batch();
  profile.threads = threads;
  profile.operators = plan::operators_of(replica.graph(), job.micro_batch());
  plan::set_memory(profile, program);
  return profile;
}

/// Everything but `data` and `read`. The replica is warm.
plan::Profile measure_operators(const InferJob& job, learn::Replica& replica, const job::RoleContext& context) {
  plan::Profile profile = outline(job, replica, context.threads);
  profile.process = process_memory(replica.execution().program(), context.device);
  const double stretch = plan::operator_stretch(context.threads, context.device.slowdown(1));
  const std::vector<NodeTime> times = replica.execution().profile_forward(kRepeats);
  for (std::size_t i = 0; i < times.size(); ++i) profile.operators[i].forward = times[i].seconds * stretch;
  return profile;
}

/// Of a simulated device: the time that the whole network takes by its clock, dealt out by FLOPs.
plan::Profile simulated_operators(const InferJob& job, learn::Replica& replica, const job::RoleContext& context) {
  plan::Profile profile = outline(job, replica, context.threads);
  const Graph& graph = replica.graph();
  const auto all = static_cast<double>(multiply_adds(graph, job.micro_batch()));
  const Instant start = context.clock.now();
  context.device.charge(2 * all);
  const Seconds taken = context.clock.now() - start;
  for (std::size_t i = 0; i < profile.operators.size(); ++i) {
    const auto share = static_cast<double>(multiply_adds(graph, graph.nodes()[i], job.micro_batch()));
    profile.operators[i].forward = all > 0 ? taken * share / all : 0;
  }
  return profile;
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

}  // namespace

Result<Profile> profile_node(const InferJob& job, const job::RoleContext& context, learn::Replica& replica,
                             const SampleSource& source) {
  const Program& program = replica.execution().program();
  if (context.device.is_simulated()) {
    Profile message = message_of(simulated_operators(job, replica, context));
    message.set_process(context.device.resident_memory());  // the program is not in it
    return message;
  }
  const plan::ProfileCache kept(context.data_folder.path());
  const plan::ProfileKey key{.network = job.model_sha256(),
                             .device = context.device.description(),
                             .backend = std::string(program.backend().name()),
                             .batch = job.micro_batch(),
                             .threads = context.threads,
                             .fused = !job.unfused()};
  std::optional<plan::Profile> profile = job.fresh() ? std::nullopt : kept.find(key);
  if (profile && !fits(*profile, replica.graph())) profile.reset();
  const bool was_kept = profile.has_value();
  MG_RETURN_IF_ERROR(warm_up(replica, source));
  if (!was_kept || profile->data != data_of(job)) {
    if (!was_kept) profile = measure_operators(job, replica, context);
    MG_TRY(profile->read, measure_reading(source, job.micro_batch(), context.device));
    profile->device = key.device;
    profile->data = data_of(job);
    const Status done = kept.keep(key, *profile);  // a full card is no reason not to work
    if (!done.ok()) log_warn("the profile is not kept for the next time", {{"message", done.error().message}});
  }
  Profile message = message_of(*profile);
  message.set_process(process_memory(program, context.device));
  message.set_was_kept(was_kept);
  return message;
}

}  // namespace mangrove::infer
