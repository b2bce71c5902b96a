#include "mangrove/train/workbench.h"

#include <algorithm>
#include <any>
#include <utility>

#include "mangrove/train/balance.h"
#include "mangrove/train/planned_replica.h"

namespace mangrove::train {

Result<std::shared_ptr<Workbench>> Workbench::of(const TrainJob& job, const Recipe& recipe, const Graph& graph,
                                                 const net::RoleContext& context, ShardFetcher* fetcher) {
  if (context.bench != nullptr && context.bench->has_value())
    return std::any_cast<std::shared_ptr<Workbench>>(*context.bench);
  MG_TRY(const Sources::Splits splits, Sources::open(job, context.data_folder, fetcher));
  MG_TRY(std::unique_ptr<Sources> data, Sources::create(job, splits, context, fetcher));
  MG_TRY(std::shared_ptr<Workbench> bench, create(job, recipe, graph, context, std::move(data)));
  if (context.bench != nullptr) *context.bench = bench;
  return bench;
}

Result<std::shared_ptr<Workbench>> Workbench::create(const TrainJob& job, const Recipe& recipe, const Graph& graph,
                                                     const net::RoleContext& context, std::unique_ptr<Sources> data) {
  std::shared_ptr<Workbench> bench(new Workbench(job, recipe, graph, context, std::move(data)));
  MG_TRY(bench->replica_, planned_replica(graph, job, bench->options(Mode::training), *bench->data_, context));
  bench->plan_ = bench->replica_->plan();
  bench->sample_flops_ = bench->replica_->flops(1);
  bench->flat_.resize(bench->parameters_ + static_cast<std::size_t>(bench->replica_->state_elements()));
  return bench;
}

Workbench::Workbench(const TrainJob& job, const Recipe& recipe, const Graph& graph, const net::RoleContext& context,
                     std::unique_ptr<Sources> data)
    : job_(job),
      loss_(recipe.loss),
      threads_(context.threads),
      graph_(graph.without_weights()),
      parameters_(static_cast<std::size_t>(graph.parameter_elements())),
      data_(std::move(data)) {}

learn::ReplicaOptions Workbench::options(Mode mode) const {
  return {.batch = mode == Mode::training ? most_in_batch(job_) : job_.batch(),
          .mode = mode,
          .backend = job_.backend(),
          .threads = threads_,
          .loss = loss_};
}

double Workbench::inference_flops(std::int64_t samples) const {
  return training_flops(samples) / learn::kTrainingPasses;
}

/// One computed like all before it.
Status Workbench::make_replica(const Graph& graph, Mode mode) {
  if (tenant_ != nullptr) std::exchange(tenant_, nullptr)->move_out(*replica_);
  replica_.reset();
  inferred_ = nullptr;
  learn::ReplicaOptions chosen = options(mode);
  chosen.plan = plan_;
  chosen.micro_batch = std::min(chosen.batch, plan_->training.micro_batch);
  MG_TRY(replica_, learn::Replica::create(graph, chosen));
  return {};
}

Result<learn::Replica*> Workbench::training(Tenant* tenant) {
  if (replica_ == nullptr || replica_->mode() != Mode::training)
    MG_RETURN_IF_ERROR(make_replica(graph_, Mode::training));
  if (tenant_ != tenant) {
    if (tenant_ != nullptr) std::exchange(tenant_, nullptr)->move_out(*replica_);
    if (tenant != nullptr) MG_RETURN_IF_ERROR(tenant->move_in(*replica_));
    tenant_ = tenant;
  }
  return replica_.get();
}

void Workbench::forget(const Tenant& tenant) {
  if (tenant_ == &tenant) tenant_ = nullptr;
}

Result<learn::Replica*> Workbench::inference(const Values& values) {
  if (replica_ != nullptr && inferred_ == values) return replica_.get();
  const std::span<const float> all = *values;
  MG_TRY(const Graph trained, learn::with_flat_parameters(graph_, all.first(parameters_)));
  MG_TRY(const Graph graph, learn::with_flat_states(trained, all.subspan(parameters_)));
  MG_RETURN_IF_ERROR(make_replica(graph, Mode::inference));
  inferred_ = values;
  return replica_.get();
}

Workbench::Values Workbench::shared(std::vector<float> values) const {
  if (inferred_ != nullptr && *inferred_ == values) return inferred_;
  return std::make_shared<const std::vector<float>>(std::move(values));
}

}  // namespace mangrove::train
