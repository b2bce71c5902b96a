#include "mangrove/train/data_parallel/worker.h"

#include <algorithm>
#include <optional>

#include "mangrove/base/check.h"
#include "mangrove/base/log.h"
#include "mangrove/base/process_memory.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/compression/worker_codecs.h"
#include "mangrove/train/data_parallel/all_reduce_worker.h"
#include "mangrove/train/data_parallel/balance.h"
#include "mangrove/train/data_parallel/local_steps.h"
#include "mangrove/train/data_parallel/neighbour_averaging.h"
#include "mangrove/train/data_parallel/planned_replica.h"
#include "mangrove/train/hyperparameters.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/replica_pool.h"
#include "mangrove/train/step_timer.h"
#include "mangrove/train/strategy_row.h"
#include "mangrove/train/tags.h"
#include "mangrove/train/worker_role.h"

namespace mangrove::train {
namespace {

class Worker final : public WorkerRole {
 public:
  Worker(const TrainJob& job, net::RoleContext& context, ShardFetcher* fetcher)
      : WorkerRole(job, context, fetcher), timer_(context) {}

 private:
  using Phase = StepTimer::Phase;
  Status prepare() override;
  void describe(Hello& hello) override;
  bool reduces() const { return strategy_of(job_).sums_gradients; }
  Status handle(const Work& work, std::string_view body) override;
  /// False for work that cannot be done: it is not for this job, or something before it got lost.
  Result<bool> accept(const Work& work, std::string_view body);
  bool fits_local_steps(const Work& work, std::string_view body) const;
  bool keep_evaluated(const Work& work, std::string_view body);
  void read_values(const Work& work, std::string_view body, std::span<float> values) const;
  Status train(const Work& work, std::string_view body);
  Status train_locally(const Work& work, std::string_view body);
  Status average(const Work& work, const learn::BatchStats& stats);
  Status hand_over(const Work& work);
  Status train_together(const Work& work, const data::Batch& batch, learn::Replica& replica);
  Status evaluate(const Work& work);
  void answer(Answer answer, std::uint64_t round, std::span<const float> values, std::string_view update = {});
  Status answer_update(const learn::BatchStats& stats, const Work& work);

  StepTimer timer_;
  Hyperparameters recipe_;
  std::shared_ptr<ReplicaPool> bench_;          // perhaps others': see there
  std::unique_ptr<AllReduceWorker> reducer_;    // of all_reduce only
  std::vector<float> sums_;                     // the same: gradient and states, while they are summed
  std::optional<LocalSteps> local_;             // where workers make steps of their own
  std::optional<NeighbourAveraging> averager_;  // of gossip only
  std::unique_ptr<WorkerCodecs> codecs_;
  bool has_own_values_ = false;    // local_ has some
  ReplicaPool::Values evaluated_;  // until it trains again
  std::int64_t evaluated_version_ = -1;
  std::uint64_t round_ = 0;     // of the last work
  std::size_t sent_bytes_ = 0;  // of the last answer
};

Answer answer_with(const learn::BatchStats& stats) {
  Answer answer;
  answer.set_loss(stats.loss);
  answer.set_correct(stats.correct);
  answer.set_count(stats.count);
  answer.mutable_early_correct()->Add(stats.early_correct.begin(), stats.early_correct.end());
  return answer;
}

void tell_exchanged(const TransferStats& exchanged, Answer& answer) {
  answer.set_peer_messages(exchanged.messages);
  answer.set_peer_bytes(exchanged.bytes);
  answer.set_peer_float_bytes(exchanged.float_bytes);
}

Status Worker::prepare() {
  MG_TRY(const Graph graph, parse_onnx(job_.model()).context("model"));  // its weights come again, with the work
  MG_TRY(recipe_, hyperparameters_of(job_));
  MG_TRY(bench_, ReplicaPool::of(job_, recipe_, graph, context_, fetcher_));
  if (reduces()) {
    MG_TRY(reducer_, AllReduceWorker::create(graph, job_, recipe_, context_, interruption_));
    sums_.resize(bench_->flat().size());
  }
  if (strategy_of(job_).steps_locally) local_.emplace(recipe_.optimizer, job_, context_, interruption_);
  if (strategy_of(job_).averages_with_neighbours) averager_.emplace(job_, graph, context_, interruption_);
  MG_TRY(codecs_, WorkerCodecs::create(job_, recipe_, graph, context_));
  return {};
}

void Worker::describe(Hello& hello) {
  train::describe(bench_->plan(), *hello.mutable_memory());
  bench_->data().describe(hello);
}

Status Worker::handle(const Work& work, std::string_view body) {
  if (work.kind() == Work::COLLECT) return hand_over(work);
  timer_.take(work);
  MG_TRY(const bool accepted, accept(work, body));
  if (!accepted) {
    log_warn("work cannot be done", {{"round", work.round()}, {"version", work.version()}});
    return {};
  }
  if (work.kind() == Work::EVALUATE) return evaluate(work);
  return local_ ? train_locally(work, body) : train(work, body);
}

Result<bool> Worker::accept(const Work& work, std::string_view body) {
  if (work.kind() != Work::TRAIN && work.kind() != Work::EVALUATE) return false;
  if (work.round() <= round_) return false;  // it came twice, or late
  round_ = work.round();
  if (!bench_->data().of(work).has({work.samples().begin(), work.samples().end()})) return false;
  if (work.kind() == Work::EVALUATE) return keep_evaluated(work, body);
  evaluated_ = nullptr;
  if (!(local_ ? fits_local_steps(work, body) : work.samples_size() <= most_in_batch(job_))) return false;
  if (work.has_reduction()) {
    timer_.enter(Phase::compute);  // the last step's update
    const bool follows = reducer_ && reducer_->follow(work, body);
    timer_.enter(Phase::encode);
    return follows;
  }
  if (codecs_->pulls()) return codecs_->take(work, body);
  return body.size() == bench_->flat().size_bytes() || (averager_ && body.empty());
}

/// The values come with the first part of an evaluation that this worker gets.
bool Worker::keep_evaluated(const Work& work, std::string_view body) {
  if (body.empty()) return evaluated_ != nullptr && evaluated_version_ == work.version();
  if (body.size() != bench_->flat().size_bytes()) return false;
  std::vector<float> values(bench_->flat().size());
  MG_CHECK(net::read_floats(body, values).ok());
  evaluated_ = bench_->shared(std::move(values));
  evaluated_version_ = work.version();
  return true;
}

/// Those that accepted work of training is to begin with.
void Worker::read_values(const Work& work, std::string_view body, std::span<float> values) const {
  if (!work.has_reduction() && codecs_->pulls()) return codecs_->read_values(values);
  if (!work.has_reduction() && !body.empty()) {
    MG_CHECK(net::read_floats(body, values).ok());
  } else {
    const std::span<const float> own = work.has_reduction() ? reducer_->values() : local_->values();
    std::copy(own.begin(), own.end(), values.begin());
  }
}

/// Only in gossip a worker goes on from its own values, once it has some.
bool Worker::fits_local_steps(const Work& work, std::string_view body) const {
  if (!local_->accepts(work) || work.has_averaging() != averager_.has_value()) return false;
  if (averager_ && !averager_->accepts(work.averaging())) return false;
  return !body.empty() || codecs_->pulls() || (averager_ && has_own_values_);
}

/// Gradients of the plain sum of losses: only the server knows by how many samples of the step to divide.
Status Worker::train(const Work& work, std::string_view body) {
  Source& samples = bench_->data().train();
  timer_.enter(Phase::load);
  const Source::Samples wanted(work.samples().begin(), work.samples().end());
  MG_TRY(const bool are_there, samples.wait_for(wanted, work.round(), interruption_));
  if (!are_there) return {};
  MG_TRY(const data::Batch batch, samples.take(wanted, work.epoch()));
  timer_.enter(Phase::compute);
  const Source::Samples next(work.next_samples().begin(), work.next_samples().end());
  if (samples.has(next) && static_cast<std::int64_t>(next.size()) <= most_in_batch(job_))
    MG_RETURN_IF_ERROR(samples.prepare(next, work.next_epoch()));
  context_.computing(bench_->training_flops(batch.count));
  timer_.enter(Phase::encode);
  MG_TRY(learn::Replica * replica, bench_->training());
  read_values(work, body, bench_->flat());
  replica->write_parameters(bench_->flat_parameters());
  replica->write_states(bench_->flat_states());
  timer_.enter(Phase::compute);
  replica->seed(learn::step_seed(job_.seed(), work.version(), context_.endpoint.rank()));
  if (work.has_reduction()) return train_together(work, batch, *replica);
  const learn::BatchStats stats = replica->compute_gradients(batch, 1.0f);
  timer_.enter(Phase::encode);
  const std::span<float> gradient = bench_->flat_parameters();
  replica->read_gradients(gradient);
  replica->read_states(bench_->flat_states());
  if (codecs_->pushes()) {
    for (float& value : gradient) value /= static_cast<float>(stats.count);
  }
  return answer_update(stats, work);
}

/// Steps of its own. The answer has what they have changed, unless neighbours get the values.
Status Worker::train_locally(const Work& work, std::string_view body) {
  if (!(averager_ && body.empty())) {  // else it goes on from its own
    read_values(work, body, bench_->flat());
    local_->set_values(bench_->flat());
  }
  timer_.enter(Phase::compute);
  MG_TRY(const std::optional<learn::BatchStats> stats, local_->run(work, *bench_, timer_));
  if (!stats) return {};
  has_own_values_ = averager_.has_value();
  if (averager_) return average(work, *stats);
  timer_.enter(Phase::encode);
  const auto count = codecs_->pushes() ? 1.0f : static_cast<float>(stats->count);
  const std::span<const float> values = local_->values();
  const std::span<float> change = bench_->flat_parameters(), states = bench_->flat_states();
  read_values(work, body, bench_->flat());
  for (std::size_t i = 0; i < change.size(); ++i) change[i] = (change[i] - values[i]) * count;
  std::copy(values.end() - static_cast<std::ptrdiff_t>(states.size()), values.end(), states.begin());
  local_->drop_values();
  return answer_update(*stats, work);
}

/// To a server: on the bench is the gradient, or the change (of a codec: the mean over the samples), and the states.
Status Worker::answer_update(const learn::BatchStats& stats, const Work& work) {
  const std::span<const float> update = bench_->flat_parameters(), states = bench_->flat_states();
  codecs_->keep_states(states);
  if (codecs_->pushes()) {
    Answer encoded = answer_with(stats);
    const WorkerCodecs::OnWire before{timer_.on_wire(), sent_bytes_ + received_bytes_};
    const double loss = stats.loss / static_cast<double>(stats.count);
    const std::string message = codecs_->encode(update, loss, before, encoded);
    answer(std::move(encoded), work.round(), work.states() ? states : std::span<const float>(), message);
  } else {
    answer(answer_with(stats), work.round(), bench_->flat());
  }
  timer_.end_step();
  return {};
}

/// Of its own values with those of its neighbours.
Status Worker::average(const Work& work, const learn::BatchStats& stats) {
  timer_.enter(Phase::wire);
  std::vector<float> values(local_->values().begin(), local_->values().end());
  MG_TRY(const bool averaged, averager_->average(work.averaging(), values));
  if (!averaged) return {};
  local_->set_values(values);
  Answer averaged_answer = answer_with(stats);
  tell_exchanged(averager_->exchanged(), averaged_answer);
  answer(std::move(averaged_answer), work.round(), {});
  timer_.end_step();
  return {};
}

/// The values that this worker has come to.
Status Worker::hand_over(const Work& work) {
  if (has_own_values_) {
    answer({}, work.round(), local_->values());
  } else {
    log_warn("there are no values to hand over", {{"round", work.round()}});
  }
  return {};
}

/// Gradients and states, summed over the workers while they come; states become their mean over the samples.
Status Worker::train_together(const Work& work, const data::Batch& batch, learn::Replica& replica) {
  if (!reducer_->begin(work, sums_)) return {};
  const std::span<float> gradient = std::span(sums_).first(bench_->flat_parameters().size());
  const std::span<float> states = std::span(sums_).subspan(gradient.size());
  const double share = static_cast<double>(batch.count) / static_cast<double>(work.reduction().samples());
  bool has_states = false;
  const auto ready = [&](std::size_t parameter) {
    if (!std::exchange(has_states, true)) {
      replica.read_states(states);
      for (float& state : states) state *= static_cast<float>(share);
      reducer_->ready(bench_->graph().parameters().size());
    }
    replica.read_gradient(parameter, gradient);
    reducer_->ready(parameter);
  };
  const learn::BatchStats stats = replica.compute_gradients(batch, reducer_->scale(work), {}, ready);
  timer_.enter(Phase::wire);
  MG_TRY(const bool reduced, reducer_->finish());
  timer_.enter(Phase::encode);
  timer_.waited_on_wire(reducer_->waited());
  if (!reduced) return {};
  Answer shares = answer_with(stats);
  const std::string body = reducer_->share_of_sums(shares);
  tell_exchanged(reducer_->exchanged(), shares);
  answer(std::move(shares), work.round(), {}, body);
  timer_.end_step();
  return {};
}

Status Worker::evaluate(const Work& work) {
  const Source::Samples samples(work.samples().begin(), work.samples().end());
  const auto part = [&](std::size_t first) {
    const std::size_t last = std::min(samples.size(), first + static_cast<std::size_t>(job_.batch()));
    return Source::Samples(samples.begin() + static_cast<std::ptrdiff_t>(first),
                           samples.begin() + static_cast<std::ptrdiff_t>(last));
  };
  MG_TRY(const bool are_there, bench_->data().of(work).wait_for(samples, work.round(), interruption_));
  if (!are_there) return {};
  Answer result;
  learn::BatchStats all;
  for (std::size_t first = 0; first < samples.size();) {
    Source& source = bench_->data().of(work);
    MG_TRY(const data::Batch batch, source.take(part(first), 0));
    first += static_cast<std::size_t>(batch.count);
    if (first < samples.size()) MG_RETURN_IF_ERROR(source.prepare(part(first), 0));
    context_.computing(bench_->inference_flops(batch.count));
    MG_TRY(learn::Replica * replica, bench_->inference(evaluated_));
    learn::BatchStats stats;
    const std::vector<std::int32_t> predictions = replica->predict(batch, &stats);
    result.add_losses(stats.loss);
    all += stats;
    result.mutable_predictions()->Add(predictions.begin(), predictions.end());
    result.mutable_truths()->Add(batch.labels.begin(), batch.labels.begin() + batch.count);
  }
  result.set_count(static_cast<std::int64_t>(samples.size()));
  result.mutable_early_correct()->Add(all.early_correct.begin(), all.early_correct.end());
  answer(std::move(result), work.round(), {});
  return {};
}

/// update: encoded; before the values.
void Worker::answer(Answer answer, std::uint64_t round, std::span<const float> values, std::string_view update) {
  answer.set_round(round);
  answer.set_peak_resident(context_.resident ? bench_->plan().predicted_peak() : peak_resident_memory());
  answer.set_compute_s(timer_.computed());
  std::string payload = net::begin_payload(answer.SerializeAsString(), update.size() + values.size_bytes());
  payload += update;
  net::append_floats(payload, values);
  sent_bytes_ = payload.size();
  context_.endpoint.send(0, kAnswerTag, std::move(payload));
}

}  // namespace

Status run_worker(const TrainJob& job, net::RoleContext& context) {
  return play_worker<Worker>(job, context);
}

}  // namespace mangrove::train
