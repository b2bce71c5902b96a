#include "mangrove/train/data_parallel/worker.h"

#include <algorithm>
#include <memory>

#include "mangrove/base/check.h"
#include "mangrove/base/log.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/data_parallel/all_reduce_exchange.h"
#include "mangrove/train/data_parallel/clipped_gradients.h"
#include "mangrove/train/data_parallel/gossip_exchange.h"
#include "mangrove/train/data_parallel/hybrid_exchange.h"
#include "mangrove/train/data_parallel/planned_replica.h"
#include "mangrove/train/data_parallel/privacy_key.h"
#include "mangrove/train/data_parallel/server_exchange.h"
#include "mangrove/train/data_parallel/trainee.h"
#include "mangrove/train/strategy_row.h"
#include "mangrove/train/worker_role.h"

namespace mangrove::train {
namespace {

/// errors: those of its create().
Result<std::unique_ptr<Exchange>> make_exchange(Trainee& trainee, const Graph& graph) {
  const Strategy& strategy = strategy_of(trainee.job());
  if (strategy.divides_layers) return HybridExchange::create(trainee, graph);
  if (strategy.sums_gradients) return AllReduceExchange::create(trainee, graph);
  if (strategy.averages_with_neighbours) return std::unique_ptr<Exchange>(new GossipExchange(trainee, graph));
  if (strategy.steps_locally) return ChangesToServer::create(trainee, graph);
  if (clips_samples(trainee.job())) return ClippedGradientsToServer::create(trainee, graph);
  return GradientsToServer::create(trainee, graph);
}

/// Takes training to the job's exchange, and classifies samples for the leader.
class Worker final : public WorkerRole {
 public:
  Worker(const TrainJob& job, job::RoleContext& context, ShardFetcher* fetcher) : WorkerRole(job, context, fetcher) {}

 private:
  Status prepare() override;
  void describe(Hello& hello) override;
  Status handle(const Work& work, std::string_view body) override;
  bool is_new(const Work& work);
  /// False for work that cannot be done: it is not for this job, or something before it got lost.
  bool accept(const Work& work, std::string_view body);
  bool keep_evaluated(const Work& work, std::string_view body);
  Status hand_over(const Work& work);
  Status evaluate(const Work& work);

  std::unique_ptr<Trainee> trainee_;
  std::unique_ptr<Exchange> exchange_;
  ReplicaPool::Values evaluated_;  // until it trains again
  std::int64_t evaluated_version_ = -1;
  std::uint64_t round_ = 0;  // of the last work
};

Status Worker::prepare() {
  MG_TRY(const Graph graph, parse_onnx(job_.model()).context("model"));  // its weights come again, with the work
  MG_TRY(trainee_, Trainee::create(job_, graph, context_, fetcher_, interruption_));
  MG_TRY(exchange_, make_exchange(*trainee_, graph));
  return {};
}

void Worker::describe(Hello& hello) {
  train::describe(trainee_->pool().plan(), *hello.mutable_memory());
  trainee_->pool().data().describe(hello);
}

Status Worker::handle(const Work& work, std::string_view body) {
  if (work.kind() == Work::COLLECT) return hand_over(work);
  if (work.kind() == Work::SUM) return is_new(work) ? exchange_->sum(work, body) : Status();
  trainee_->take(work, received_bytes_);
  if (!accept(work, body)) {
    log_warn("work cannot be done", {{"round", work.round()}, {"version", work.version()}});
    return {};
  }
  return work.kind() == Work::EVALUATE ? evaluate(work) : exchange_->train(work, body);
}

/// Else it came twice, or late.
bool Worker::is_new(const Work& work) {
  if (work.round() <= round_) return false;
  round_ = work.round();
  return true;
}

bool Worker::accept(const Work& work, std::string_view body) {
  if (work.kind() != Work::TRAIN && work.kind() != Work::EVALUATE) return false;
  if (!is_new(work)) return false;
  if (!trainee_->pool().data().of(work).has({work.samples().begin(), work.samples().end()})) return false;
  if (work.kind() == Work::EVALUATE) return keep_evaluated(work, body);
  evaluated_ = nullptr;
  return exchange_->accept(work, body);
}

/// The values come with the first part of an evaluation that this worker gets.
bool Worker::keep_evaluated(const Work& work, std::string_view body) {
  ReplicaPool& pool = trainee_->pool();
  if (body.empty()) return evaluated_ != nullptr && evaluated_version_ == work.version();
  if (body.size() != pool.flat().size_bytes()) return false;
  std::vector<float> values(pool.flat().size());
  MG_CHECK(net::read_floats(body, values).ok());
  evaluated_ = pool.shared(std::move(values));
  evaluated_version_ = work.version();
  return true;
}

/// The values that this worker has come to.
Status Worker::hand_over(const Work& work) {
  const std::span<const float> values = exchange_->own_values();
  if (values.empty()) {
    log_warn("there are no values to hand over", {{"round", work.round()}});
  } else {
    trainee_->answer({}, work.round(), values);
  }
  return {};
}

Status Worker::evaluate(const Work& work) {
  ReplicaPool& pool = trainee_->pool();
  const Source::Samples samples(work.samples().begin(), work.samples().end());
  const auto part = [&](std::size_t first) {
    const std::size_t last = std::min(samples.size(), first + static_cast<std::size_t>(job_.batch()));
    return Source::Samples(samples.begin() + static_cast<std::ptrdiff_t>(first),
                           samples.begin() + static_cast<std::ptrdiff_t>(last));
  };
  MG_TRY(const bool are_there, pool.data().of(work).wait_for(samples, work.round(), interruption_));
  if (!are_there) return {};
  Answer result;
  learn::BatchStats all;
  for (std::size_t first = 0; first < samples.size();) {
    Source& source = pool.data().of(work);
    MG_TRY(const data::Batch batch, source.take(part(first), 0));
    first += static_cast<std::size_t>(batch.count);
    if (first < samples.size()) MG_RETURN_IF_ERROR(source.prepare(part(first), 0));
    context_.device.charge(pool.inference_flops(batch.count));
    MG_TRY(learn::Replica * replica, pool.inference(evaluated_));
    learn::BatchStats stats;
    const std::vector<std::int32_t> predictions = replica->predict(batch, &stats);
    result.add_losses(stats.loss);
    all += stats;
    result.mutable_predictions()->Add(predictions.begin(), predictions.end());
    result.mutable_truths()->Add(batch.labels.begin(), batch.labels.begin() + batch.count);
  }
  result.set_count(static_cast<std::int64_t>(samples.size()));
  result.mutable_early_correct()->Add(all.early_correct.begin(), all.early_correct.end());
  trainee_->answer(std::move(result), work.round(), {});
  return {};
}

}  // namespace

Status run_worker(const TrainJob& job, job::RoleContext& context) {
  return play_worker<Worker>(job, context);
}

}  // namespace mangrove::train
