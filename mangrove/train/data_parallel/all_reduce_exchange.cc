#include "mangrove/train/data_parallel/all_reduce_exchange.h"

#include <algorithm>
#include <utility>

#include "mangrove/train/data_parallel/balance.h"
#include "mangrove/train/transfer_stats.h"

namespace mangrove::train {
namespace {

using Phase = StepTimer::Phase;

}  // namespace

Status finish_reduction(Trainee& trainee, AllReduceWorker& worker, const Work& work, const learn::BatchStats& stats) {
  StepTimer& timer = trainee.timer();
  timer.enter(Phase::wire);
  MG_TRY(const bool reduced, worker.finish());
  timer.enter(Phase::encode);
  timer.waited_on_wire(worker.waited());
  if (!reduced) return {};
  Answer shares = answer_with(stats);
  const std::string body = worker.share_of_sums(shares);
  put_transfer_stats(worker.parts().transfer_stats(), shares);
  trainee.answer(std::move(shares), work.round(), {}, body);
  timer.end_step();
  return {};
}

AllReduceExchange::AllReduceExchange(Trainee& trainee, std::unique_ptr<AllReduceWorker> worker)
    : trainee_(trainee), worker_(std::move(worker)), sums_(trainee.pool().flat().size()) {}

Result<std::unique_ptr<Exchange>> AllReduceExchange::create(Trainee& trainee, const Graph& graph) {
  MG_TRY(auto worker,
         AllReduceWorker::create(trainee.job(), trainee.recipe(), trainee.context(), trainee.interruption()));
  MG_RETURN_IF_ERROR(worker->use(graph));
  return std::unique_ptr<Exchange>(new AllReduceExchange(trainee, std::move(worker)));
}

bool AllReduceExchange::accept(const Work& work, std::string_view body) {
  if (!work.has_reduction() || work.samples_size() > most_in_batch(trainee_.job())) return false;
  trainee_.timer().enter(Phase::compute);  // the last step's update
  const bool follows = worker_->follow(work, body);
  trainee_.timer().enter(Phase::encode);
  return follows;
}

Status AllReduceExchange::train(const Work& work, std::string_view) {
  const auto read_values = [&](std::span<float> values) { std::ranges::copy(worker_->values(), values.begin()); };
  MG_TRY(const auto step, trainee_.begin_step(work, read_values));
  if (!step || !worker_->begin(work, sums_)) return {};
  const learn::BatchStats stats = compute(work, *step);
  return finish_reduction(trainee_, *worker_, work, stats);
}

/// Gradients and states go on their way as they come. The states' sum is their mean over the samples.
learn::BatchStats AllReduceExchange::compute(const Work& work, const Trainee::Step& step) {
  const std::span<float> gradient = std::span(sums_).first(trainee_.pool().flat_parameters().size());
  const std::span<float> states = std::span(sums_).subspan(gradient.size());
  const double share = static_cast<double>(step.batch.count) / static_cast<double>(work.reduction().samples());
  bool has_states = false;
  const auto ready = [&](std::size_t parameter) {
    if (!std::exchange(has_states, true)) {
      step.replica->read_states(states);
      for (float& state : states) state *= static_cast<float>(share);
      worker_->ready(trainee_.pool().graph().parameters().size());
    }
    step.replica->read_gradient(parameter, gradient);
    worker_->ready(parameter);
  };
  return step.replica->compute_gradients(step.batch, worker_->scale(work), {}, ready);
}

}  // namespace mangrove::train
