#include "mangrove/train/data_parallel/trainee.h"

#include "mangrove/net/payload.h"
#include "mangrove/train/data_parallel/balance.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {

Result<std::unique_ptr<Trainee>> Trainee::create(const TrainJob& job, const Graph& graph, job::RoleContext& context,
                                                 ShardFetcher* fetcher, std::optional<net::Message>& interruption) {
  std::unique_ptr<Trainee> trainee(new Trainee(job, context, interruption));
  MG_TRY(trainee->recipe_, hyperparameters_of(job));
  MG_TRY(trainee->pool_, ReplicaPool::of(job, trainee->recipe_, graph, context, fetcher));
  return trainee;
}

void Trainee::take(const Work& work, std::size_t bytes) {
  received_bytes_ = bytes;
  timer_.take(work);
}

Result<std::optional<data::Batch>> Trainee::load(const Work& work) {
  Source& samples = pool_->data().train();
  timer_.enter(StepTimer::Phase::load);
  const Source::Samples wanted(work.samples().begin(), work.samples().end());
  MG_TRY(const bool are_there, samples.wait_for(wanted, work.round(), interruption_));
  if (!are_there) return std::optional<data::Batch>();
  MG_TRY(data::Batch batch, samples.take(wanted, work.epoch()));
  timer_.enter(StepTimer::Phase::compute);
  const Source::Samples next(work.next_samples().begin(), work.next_samples().end());
  if (samples.has(next) && static_cast<std::int64_t>(next.size()) <= most_in_batch(job_))
    MG_RETURN_IF_ERROR(samples.prepare(next, work.next_epoch()));
  return std::optional(std::move(batch));
}

Result<std::optional<Trainee::Step>> Trainee::begin_step(const Work& work,
                                                         const std::function<void(std::span<float>)>& read_values) {
  using Phase = StepTimer::Phase;
  MG_TRY(std::optional<data::Batch> batch, load(work));
  if (!batch) return std::optional<Step>();
  Step step;
  step.batch = std::move(*batch);
  context_.device.charge(pool_->training_flops(step.batch.count));
  timer_.enter(Phase::encode);
  MG_TRY(step.replica, pool_->training());
  read_values(pool_->flat());
  step.replica->write_parameters(pool_->flat_parameters());
  step.replica->write_states(pool_->flat_states());
  timer_.enter(Phase::compute);
  step.replica->seed(learn::step_seed(job_.seed(), work.version(), context_.endpoint.rank()));
  return std::optional(std::move(step));
}

void Trainee::answer(Answer answer, std::uint64_t round, std::span<const float> values, std::string_view update) {
  answer.set_round(round);
  answer.set_peak_resident(context_.device.peak_memory(pool_->plan().predicted_peak()));
  answer.set_compute_s(timer_.computed());
  std::string payload = net::begin_payload(answer.SerializeAsString(), update.size() + values.size_bytes());
  payload += update;
  net::append_floats(payload, values);
  sent_bytes_ = payload.size();
  context_.endpoint.send(0, kAnswerTag, std::move(payload));
}

Answer answer_with(const learn::BatchStats& stats) {
  Answer answer;
  answer.set_loss(stats.loss);
  answer.set_correct(stats.correct);
  answer.set_count(stats.count);
  answer.mutable_early_correct()->Add(stats.early_correct.begin(), stats.early_correct.end());
  return answer;
}

}  // namespace mangrove::train
