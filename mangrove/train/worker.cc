#include "mangrove/train/worker.h"

#include <algorithm>
#include <optional>

#include "mangrove/base/log.h"
#include "mangrove/base/process_memory.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/averager.h"
#include "mangrove/train/balance.h"
#include "mangrove/train/job_settings.h"
#include "mangrove/train/local_steps.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/planned_replica.h"
#include "mangrove/train/recipe.h"
#include "mangrove/train/reducer.h"
#include "mangrove/train/source.h"
#include "mangrove/train/step_timer.h"
#include "mangrove/train/tags.h"
#include "mangrove/train/worker_codecs.h"

namespace mangrove::train {
namespace {

constexpr Seconds kWait = 5;  // for work; then it is waited for again, as long as the server is alive

class Worker {
 public:
  Worker(const TrainJob& job, net::RoleContext& context, ShardFetcher* fetcher)
      : job_(job), context_(context), fetcher_(fetcher), timer_(context) {}
  Status run();

 private:
  using Phase = StepTimer::Phase;
  Status prepare();
  bool reduces() const { return job_.strategy() == "all_reduce"; }
  Status make_replica(const Graph& graph, Mode mode);
  learn::ReplicaOptions replica_options(Mode mode) const;
  Status take_values(std::span<const float> values, Mode mode);
  void say_hello();
  Status handle(const Work& work, std::string_view body);
  /// False for work that cannot be done: it is not for this job, or something before it got lost.
  Result<bool> accept(const Work& work, std::string_view body);
  bool fits_local_steps(const Work& work, std::string_view body) const;
  Result<net::Message> next_message();
  Status train(const Work& work);
  Status train_locally(const Work& work);
  Status average(const Work& work, const learn::BatchStats& stats);
  Status hand_over(const Work& work);
  Status train_together(const Work& work, const data::Batch& batch);
  Status evaluate(const Work& work);
  void answer(Answer answer, std::uint64_t round, std::span<const float> values, std::string_view update = {});
  Status answer_update(const learn::BatchStats& stats, const Work& work);

  const TrainJob& job_;
  net::RoleContext& context_;
  ShardFetcher* const fetcher_;  // null: the data is in the data folder
  StepTimer timer_;
  Status failure_;                            // why this worker cannot take part
  std::optional<net::Message> interruption_;  // the work that ended another
  std::optional<Graph> graph_;
  Recipe recipe_;
  std::unique_ptr<Sources> data_;
  std::unique_ptr<learn::Replica> replica_;
  std::unique_ptr<Reducer> reducer_;        // of all_reduce only
  std::optional<LocalSteps> local_;         // where workers make steps of their own
  std::optional<Averager> averager_;        // of gossip only
  std::unique_ptr<WorkerCodecs> codecs_;
  bool has_own_values_ = false;             // local_ has some
  std::optional<learn::ProcessPlan> plan_;  // of training; made once, so that all steps are computed alike
  std::int64_t version_ = -1;               // of the replica's values
  std::uint64_t round_ = 0;                 // of the last work
  std::size_t received_bytes_ = 0, sent_bytes_ = 0;  // of the last work, and of the last answer
  std::size_t parameters_ = 0;              // elements
  std::vector<float> flat_;                 // values (see Master) on their way in; gradient and states on their way out
};

Answer answer_with(const learn::BatchStats& stats) {
  Answer answer;
  answer.set_loss(stats.loss);
  answer.set_correct(stats.correct);
  answer.set_count(stats.count);
  return answer;
}

void tell_exchanged(const Exchanged& exchanged, Answer& answer) {
  answer.set_peer_messages(exchanged.messages);
  answer.set_peer_bytes(exchanged.bytes);
  answer.set_peer_float_bytes(exchanged.float_bytes);
}

Status Worker::prepare() {
  MG_TRY(graph_, parse_onnx(job_.model()).context("model"));
  MG_TRY(recipe_, recipe_of(job_));
  MG_TRY(data_, Sources::open(job_, context_, fetcher_));
  MG_TRY(replica_, planned_replica(*graph_, job_, replica_options(Mode::training), data_->train().dataset(), context_));
  plan_ = replica_->plan();
  if (reduces()) {
    MG_TRY(reducer_, Reducer::create(*graph_, job_, recipe_, context_, interruption_));
  }
  if (steps_locally(job_)) local_.emplace(recipe_.optimizer, job_, context_, interruption_);
  if (job_.strategy() == "gossip") averager_.emplace(job_, *graph_, context_, interruption_);
  MG_TRY(codecs_, WorkerCodecs::create(job_, recipe_, *graph_, context_));
  graph_ = graph_->without_weights();  // they come with the work
  parameters_ = static_cast<std::size_t>(replica_->parameter_elements());
  flat_.resize(parameters_ + static_cast<std::size_t>(replica_->state_elements()));
  return {};
}

learn::ReplicaOptions Worker::replica_options(Mode mode) const {
  return {.batch = mode == Mode::training ? most_in_batch(job_) : job_.batch(),
          .mode = mode,
          .backend = job_.backend(),
          .threads = context_.threads,
          .loss = recipe_.loss};
}

/// One computed like all before it.
Status Worker::make_replica(const Graph& graph, Mode mode) {
  replica_.reset();
  version_ = -1;
  learn::ReplicaOptions options = replica_options(mode);
  options.plan = plan_;
  options.micro_batch = std::min(options.batch, plan_->training.micro_batch);
  MG_TRY(replica_, learn::Replica::create(graph, options));
  return {};
}

/// Makes the replica one of these values. Evaluation gets a new one: what is compiled for inference may have its
/// weights folded.
Status Worker::take_values(std::span<const float> values, Mode mode) {
  if (mode == Mode::inference) {
    MG_TRY(const Graph trained, learn::with_flat_parameters(*graph_, values.first(parameters_)));
    MG_TRY(const Graph graph, learn::with_flat_states(trained, values.subspan(parameters_)));
    return make_replica(graph, mode);
  }
  if (replica_->mode() != mode) MG_RETURN_IF_ERROR(make_replica(*graph_, mode));
  replica_->write_parameters(values.first(parameters_));
  replica_->write_states(values.subspan(parameters_));
  return {};
}

Status Worker::run() {
  failure_ = prepare();
  say_hello();
  while (true) {
    Result<net::Message> message = next_message();
    if (!message.ok() && message.code() == Code::deadline_exceeded) continue;
    if (!message.ok()) return message.error().context("training: the server");
    Work work;
    received_bytes_ = message->payload.size();
    const Result<net::PayloadParts> parts = net::split_payload(message->payload);
    if (!parts.ok() || !work.ParseFromArray(parts->header.data(), static_cast<int>(parts->header.size()))) {
      log_warn("work cannot be read", {{"bytes", message->payload.size()}});
      continue;
    }
    if (work.kind() == Work::END) return failure_;
    if (work.kind() == Work::PING || !failure_.ok()) {
      say_hello();
      continue;
    }
    failure_ = handle(work, parts->body);
    if (!failure_.ok()) say_hello();
  }
}

Result<net::Message> Worker::next_message() {
  if (interruption_) return *std::exchange(interruption_, std::nullopt);
  return context_.endpoint.recv({0}, kWorkTag, context_.clock.after(kWait));
}

void Worker::say_hello() {
  Hello hello;
  if (failure_.ok()) {
    if (plan_) describe(*plan_, *hello.mutable_memory());
    data_->describe(hello);
  } else {
    hello.set_code(static_cast<int>(failure_.code()));
    hello.set_message(failure_.error().message);
  }
  context_.endpoint.send(0, kHelloTag, hello.SerializeAsString());
}

Status Worker::handle(const Work& work, std::string_view body) {
  if (work.kind() == Work::COLLECT) return hand_over(work);
  timer_.take(work);
  MG_TRY(const bool accepted, accept(work, body));
  if (!accepted) {
    log_warn("work cannot be done", {{"round", work.round()}, {"version", work.version()}, {"have", version_}});
    return {};
  }
  if (work.kind() == Work::EVALUATE) return evaluate(work);
  return local_ ? train_locally(work) : train(work);
}

Result<bool> Worker::accept(const Work& work, std::string_view body) {
  if (work.kind() != Work::TRAIN && work.kind() != Work::EVALUATE) return false;
  if (work.round() <= round_) return false;  // it came twice, or late
  round_ = work.round();
  const Mode mode = work.kind() == Work::TRAIN ? Mode::training : Mode::inference;
  if (!data_->of(work).has({work.samples().begin(), work.samples().end()})) return false;
  if (mode == Mode::training && !(local_ ? fits_local_steps(work, body) : work.samples_size() <= most_in_batch(job_)))
    return false;
  if (work.has_reduction()) {
    timer_.enter(Phase::compute);  // the last step's update
    if (!reducer_ || !reducer_->follow(work, body)) return false;
    timer_.enter(Phase::encode);
    MG_RETURN_IF_ERROR(take_values(reducer_->values(), mode));
    version_ = work.version();
  } else if (mode == Mode::training && codecs_->pulls()) {
    if (!codecs_->take(work, body)) return false;
    MG_RETURN_IF_ERROR(take_values(codecs_->values(), mode));
    if (local_) local_->set_values(codecs_->values());
    version_ = work.version();
  } else if (!body.empty()) {
    if (body.size() != flat_.size() * sizeof(float)) return false;
    MG_RETURN_IF_ERROR(net::read_floats(body, flat_));
    MG_RETURN_IF_ERROR(take_values(flat_, mode));
    if (local_ && mode == Mode::training) local_->set_values(flat_);
    version_ = work.version();
  } else if (local_ && mode == Mode::training) {
    MG_RETURN_IF_ERROR(take_values(local_->values(), mode));
    version_ = work.version();
  }
  return replica_ != nullptr && replica_->mode() == mode && version_ == work.version();
}

/// Only in gossip a worker goes on from its own values, once it has some.
bool Worker::fits_local_steps(const Work& work, std::string_view body) const {
  if (!local_->accepts(work) || work.has_averaging() != averager_.has_value()) return false;
  if (averager_ && !averager_->accepts(work.averaging())) return false;
  return !body.empty() || codecs_->pulls() || (averager_ && has_own_values_);
}

/// Gradients of the plain sum of losses: only the server knows by how many samples of the step to divide.
Status Worker::train(const Work& work) {
  timer_.enter(Phase::load);
  const Source::Samples samples(work.samples().begin(), work.samples().end());
  MG_TRY(const bool are_there, data_->train().wait_for(samples, work.round(), interruption_));
  if (!are_there) return {};
  MG_TRY(const data::Batch batch, data_->train().take(samples, work.epoch()));
  timer_.enter(Phase::compute);
  const Source::Samples next(work.next_samples().begin(), work.next_samples().end());
  if (data_->train().has(next) && static_cast<std::int64_t>(next.size()) <= most_in_batch(job_))
    MG_RETURN_IF_ERROR(data_->train().prepare(next, work.next_epoch()));
  context_.computing(replica_->flops(batch.count));
  replica_->seed(learn::step_seed(job_.seed(), work.version(), context_.endpoint.rank()));
  if (work.has_reduction()) return train_together(work, batch);
  const learn::BatchStats stats = replica_->compute_gradients(batch, 1.0f);
  timer_.enter(Phase::encode);
  const std::span<float> gradient = std::span(flat_).first(parameters_);
  replica_->read_gradients(gradient);
  replica_->read_states(std::span(flat_).subspan(parameters_));
  if (codecs_->pushes()) {
    for (float& value : gradient) value /= static_cast<float>(stats.count);
  }
  return answer_update(stats, work);
}

/// Steps of its own. The answer has what they have changed, unless neighbours get the values.
Status Worker::train_locally(const Work& work) {
  timer_.enter(Phase::compute);
  MG_TRY(const std::optional<learn::BatchStats> stats, local_->run(work, *replica_, data_->train(), timer_));
  if (!stats) return {};
  has_own_values_ = true;
  const std::span<const float> values = local_->values();
  if (averager_) return average(work, *stats);
  timer_.enter(Phase::encode);
  const auto count = codecs_->pushes() ? 1.0f : static_cast<float>(stats->count);
  const std::span<const float> before = codecs_->pulls() ? codecs_->values() : flat_;
  for (std::size_t i = 0; i < parameters_; ++i) flat_[i] = (before[i] - values[i]) * count;
  std::copy(values.begin() + static_cast<std::ptrdiff_t>(parameters_), values.end(),
            flat_.begin() + static_cast<std::ptrdiff_t>(parameters_));
  return answer_update(*stats, work);
}

/// To a server: flat_ has the gradient, or the change (of a codec: the mean over the samples), and the states.
Status Worker::answer_update(const learn::BatchStats& stats, const Work& work) {
  const std::span<const float> update = std::span(flat_).first(parameters_), states = std::span(flat_).subspan(parameters_);
  codecs_->keep_states(states);
  if (codecs_->pushes()) {
    Answer encoded = answer_with(stats);
    const WorkerCodecs::OnWire before{timer_.on_wire(), sent_bytes_ + received_bytes_};
    const double loss = stats.loss / static_cast<double>(stats.count);
    const std::string message = codecs_->encode(update, loss, before, encoded);
    answer(std::move(encoded), work.round(), work.states() ? states : std::span<const float>(), message);
  } else {
    answer(answer_with(stats), work.round(), flat_);
  }
  timer_.end_step();
  return {};
}

/// Of its own values with those of its neighbours.
Status Worker::average(const Work& work, const learn::BatchStats& stats) {
  timer_.enter(Phase::wire);
  const std::span<const float> values = local_->values();
  flat_.assign(values.begin(), values.end());
  MG_TRY(const bool averaged, averager_->average(work.averaging(), flat_));
  if (!averaged) return {};
  local_->set_values(flat_);
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

/// Gradients and states, summed over the workers in flat_ while they come; states become their mean over the samples.
Status Worker::train_together(const Work& work, const data::Batch& batch) {
  if (!reducer_->begin(work, flat_)) return {};
  const double share = static_cast<double>(batch.count) / static_cast<double>(work.reduction().samples());
  bool has_states = false;
  const auto ready = [&](std::size_t parameter) {
    if (!std::exchange(has_states, true)) {
      const std::span<float> states = std::span(flat_).subspan(parameters_);
      replica_->read_states(states);
      for (float& state : states) state *= static_cast<float>(share);
      reducer_->ready(graph_->parameters().size());
    }
    replica_->read_gradient(parameter, std::span(flat_).first(parameters_));
    reducer_->ready(parameter);
  };
  const learn::BatchStats stats = replica_->compute_gradients(batch, reducer_->scale(work), {}, ready);
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
  MG_TRY(const bool are_there, data_->of(work).wait_for(samples, work.round(), interruption_));
  if (!are_there) return {};
  Answer result;
  for (std::size_t first = 0; first < samples.size();) {
    MG_TRY(const data::Batch batch, data_->of(work).take(part(first), 0));
    first += static_cast<std::size_t>(batch.count);
    if (first < samples.size()) MG_RETURN_IF_ERROR(data_->of(work).prepare(part(first), 0));
    context_.computing(replica_->flops(batch.count));
    learn::BatchStats stats;
    const std::vector<std::int32_t> predictions = replica_->predict(batch, &stats);
    result.add_losses(stats.loss);
    result.mutable_predictions()->Add(predictions.begin(), predictions.end());
    result.mutable_truths()->Add(batch.labels.begin(), batch.labels.begin() + batch.count);
  }
  result.set_count(static_cast<std::int64_t>(samples.size()));
  answer(std::move(result), work.round(), {});
  return {};
}

/// update: encoded; before the values.
void Worker::answer(Answer answer, std::uint64_t round, std::span<const float> values, std::string_view update) {
  answer.set_round(round);
  answer.set_peak_resident(context_.resident && plan_ ? plan_->predicted_peak() : peak_resident_memory());
  answer.set_compute_s(timer_.computed());
  std::string payload = net::begin_payload(answer.SerializeAsString(), update.size() + values.size_bytes());
  payload += update;
  net::append_floats(payload, values);
  sent_bytes_ = payload.size();
  context_.endpoint.send(0, kAnswerTag, std::move(payload));
}

}  // namespace

Status run_worker(const TrainJob& job, net::RoleContext& context) {
  MG_TRY(const bool from_cluster, is_from_cluster(job));
  if (!from_cluster) return Worker(job, context, nullptr).run();
  ShardFetcher fetcher(job, context);
  return Worker(job, fetcher.context(), &fetcher).run();
}

}  // namespace mangrove::train
