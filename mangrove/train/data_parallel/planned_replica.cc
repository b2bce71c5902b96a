#include "mangrove/train/data_parallel/planned_replica.h"

#include "mangrove/base/log.h"
#include "mangrove/learn/checkpoint.h"
#include "mangrove/train/compression/uplink_codec.h"
#include "mangrove/train/data_parallel/aggregate_key.h"
#include "mangrove/train/data_parallel/balance.h"
#include "mangrove/train/data_parallel/privacy_key.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

constexpr Bytes kConnection = MiB(12);  // of gRPC, once messages flow

/// What a codec remembers and works with: see codec::MomentumCorrection and DownlinkDecoder.
int vectors_of_codecs(const TrainJob& job, int workers) {
  if (strategy_of(job).averages_with_neighbours && !is_plain(job.codec())) {
    const bool is_ring = job.neighbours().empty() || job.neighbours() == "ring";
    return 2 * (is_ring ? 2 : workers) + 2;  // see NeighbourAveraging
  }
  return (is_plain(job.codec()) ? 0 : 5) + (is_plain(job.downlink_codec()) && !is_auto(job) ? 0 : 3);
}

/// The memory that a worker of gossip holds for a rule, see NeighbourAveraging.
int vectors_of_rule(const TrainJob& job, int workers) {
  const bool compares = strategy_of(job).averages_with_neighbours && rule_of(job) != nullptr;
  const bool is_ring = job.neighbours().empty() || job.neighbours() == "ring";
  return compares ? (is_ring ? 2 : workers) + 1 : 0;
}

/// See learn::Replica::add_clipped_gradients, and the sum.
int vectors_of_privacy(const TrainJob& job) {
  return clips_samples(job) ? 3 : 0;
}

/// What a worker holds for a secure sum: its update, and that twice again in words and messages.
int vectors_of_sum(const TrainJob& job) {
  return job.secure_aggregation() ? 3 : 0;
}

/// Beside its program, a worker holds decoded samples, batches (those that are loaded ahead, and the one in use), and
/// parameters as they travel: in its own vector, in the message that brings them and in the one that takes gradients
/// away. For all_reduce it also has what a AllReduceWorker keeps (the network, values, gradient, sums, a scratch
/// vector, what the optimizer remembers) and the state, in a message and out of it; where it makes steps of its own,
/// values and what the optimizer remembers, and for gossip the mean, a scratch vector, and what goes to two neighbours
/// and comes from them.
learn::MemoryBudget memory_budget(const Graph& graph, const TrainJob& job, Sources& data,
                                  const job::RoleContext& context) {
  const Bytes weights = graph.parameter_elements() * kFloatBytes;
  const Bytes batch = most_in_batch(job) * data.train().dataset().sample_shape().elements() * kFloatBytes;
  const int workers = context.endpoint.size() - 1;
  const Bytes held = (strategy_of(job).vectors_held + vectors_of_codecs(job, workers) + vectors_of_rule(job, workers) +
                      vectors_of_privacy(job) + vectors_of_sum(job)) *
                     weights;
  return {.limit = most_memory(job, context.device),
          .reserved = kConnection + held + 5 * batch + data.cached(),
          .released = weights,
          .resident = [&device = context.device] { return device.resident_memory(); }};
}

/// Of this rank in the run that is resumed: a plan of its own might have another, and the gradients other roundings.
/// 0: there is none.
Result<std::int64_t> resumed_micro_batch(const TrainJob& job, net::Rank rank) {
  if (job.resume_from().empty()) return 0;
  MG_TRY(const learn::Checkpoint checkpoint, learn::parse_checkpoint(job.resume_from()).context("resume"));
  const auto worker = static_cast<std::size_t>(rank) - 1;
  if (worker >= checkpoint.micro_batches.size()) return 0;
  const std::int64_t micro_batch = checkpoint.micro_batches[worker];
  return micro_batch >= 0 && micro_batch <= most_in_batch(job) ? micro_batch : 0;  // else of another job
}

}  // namespace

Result<std::unique_ptr<learn::Replica>> planned_replica(const Graph& graph, const TrainJob& job,
                                                        learn::ReplicaOptions options, Sources& data,
                                                        const job::RoleContext& context) {
  options.memory = memory_budget(graph, job, data, context);
  options.micro_batch = clips_samples(job) ? 1 : job.micro_batch();
  if (options.micro_batch == 0) {
    MG_TRY(options.micro_batch, resumed_micro_batch(job, context.endpoint.rank()));
  }
  if (options.micro_batch == 0) options.micro_batch = micro_batch_of_shares(job).value_or(0);
  auto replica = learn::Replica::create(graph, options);
  if (replica.ok() || replica.code() != Code::resource_exhausted || options.micro_batch == job.micro_batch())
    return replica;
  log_warn("there is not the memory for this micro-batch, another is taken",
           {{"micro_batch", options.micro_batch}, {"why", replica.error().message}});
  options.micro_batch = job.micro_batch();
  return learn::Replica::create(graph, options);
}

void describe(const learn::ProcessPlan& plan, MemoryPlan& message) {
  message.set_micro_batch(plan.training.micro_batch);
  message.set_micro_batches(plan.training.micro_batches());
  message.set_recomputed_share(plan.training.recomputed_share);
  message.set_predicted_peak(plan.predicted_peak());
  message.set_unlimited(plan.training.unlimited);
}

}  // namespace mangrove::train
