#include "mangrove/train/replica_pool.h"

#include <algorithm>
#include <utility>

#include "mangrove/train/data_parallel/balance.h"
#include "mangrove/train/data_parallel/planned_replica.h"

namespace mangrove::train {

Result<std::shared_ptr<ReplicaPool>> ReplicaPool::of(const TrainJob& job, const Hyperparameters& recipe,
                                                     const Graph& graph, const job::RoleContext& context,
                                                     ShardFetcher* fetcher) {
  std::shared_ptr<job::SharedState>* const shared = context.device.shared();
  if (shared != nullptr && *shared != nullptr) {
    auto pool = std::dynamic_pointer_cast<ReplicaPool>(*shared);
    MG_CHECK_MSG(pool != nullptr, "devices share something else");
    return pool;
  }
  MG_TRY(const Sources::Splits splits, Sources::open(job, context.data_folder, fetcher));
  MG_TRY(std::unique_ptr<Sources> data, Sources::create(job, splits, context, fetcher));
  MG_TRY(std::shared_ptr<ReplicaPool> bench, create(job, recipe, graph, context, std::move(data)));
  if (shared != nullptr) *shared = bench;
  return bench;
}

Result<std::shared_ptr<ReplicaPool>> ReplicaPool::create(const TrainJob& job, const Hyperparameters& recipe,
                                                         const Graph& graph, const job::RoleContext& context,
                                                         std::unique_ptr<Sources> data) {
  std::shared_ptr<ReplicaPool> bench(new ReplicaPool(job, recipe, graph, context, std::move(data)));
  MG_TRY(bench->replica_, planned_replica(graph, job, bench->options(Mode::training), *bench->data_, context));
  bench->plan_ = bench->replica_->plan();
  bench->sample_flops_ = bench->replica_->flops(1);
  bench->flat_.resize(bench->parameters_ + static_cast<std::size_t>(bench->replica_->state_elements()));
  return bench;
}

ReplicaPool::ReplicaPool(const TrainJob& job, const Hyperparameters& recipe, const Graph& graph,
                         const job::RoleContext& context, std::unique_ptr<Sources> data)
    : job_(job),
      loss_(recipe.loss),
      threads_(context.threads),
      graph_(graph.without_weights()),
      parameters_(static_cast<std::size_t>(graph.parameter_elements())),
      data_(std::move(data)) {}

learn::ReplicaOptions ReplicaPool::options(Mode mode) const {
  return {.batch = mode == Mode::training ? most_in_batch(job_) : job_.batch(),
          .mode = mode,
          .backend = job_.backend(),
          .threads = threads_,
          .loss = loss_};
}

double ReplicaPool::inference_flops(std::int64_t samples) const {
  return training_flops(samples) / learn::kTrainingPasses;
}

void ReplicaPool::release() {
  if (tenant_ != nullptr) std::exchange(tenant_, nullptr)->evict(*replica_);
  replica_.reset();
  inferred_ = nullptr;
}

/// One computed like all before it.
Status ReplicaPool::make_replica(const Graph& graph, Mode mode) {
  release();
  learn::ReplicaOptions chosen = options(mode);
  chosen.plan = plan_;
  chosen.micro_batch = std::min(chosen.batch, plan_->training.micro_batch);
  MG_TRY(replica_, learn::Replica::create(graph, chosen));
  return {};
}

Result<learn::Replica*> ReplicaPool::training(ReplicaUser* tenant) {
  if (replica_ == nullptr || replica_->mode() != Mode::training)
    MG_RETURN_IF_ERROR(make_replica(graph_, Mode::training));
  if (tenant_ != tenant) {
    if (tenant_ != nullptr) std::exchange(tenant_, nullptr)->evict(*replica_);
    if (tenant != nullptr) MG_RETURN_IF_ERROR(tenant->load(*replica_));
    tenant_ = tenant;
  }
  return replica_.get();
}

void ReplicaPool::forget(const ReplicaUser& tenant) {
  if (tenant_ == &tenant) tenant_ = nullptr;
}

Result<learn::Replica*> ReplicaPool::inference(const Values& values) {
  if (replica_ != nullptr && inferred_ == values) return replica_.get();
  const std::span<const float> all = *values;
  MG_TRY(const Graph trained, learn::with_flat_parameters(graph_, all.first(parameters_)));
  MG_TRY(const Graph graph, learn::with_flat_states(trained, all.subspan(parameters_)));
  MG_RETURN_IF_ERROR(make_replica(graph, Mode::inference));
  inferred_ = values;
  return replica_.get();
}

ReplicaPool::Values ReplicaPool::shared(std::vector<float> values) const {
  if (inferred_ != nullptr && *inferred_ == values) return inferred_;
  return std::make_shared<const std::vector<float>>(std::move(values));
}

}  // namespace mangrove::train
