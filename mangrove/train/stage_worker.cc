#include "mangrove/train/stage_worker.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/base/log.h"
#include "mangrove/base/process_memory.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/plan/measure.h"
#include "mangrove/train/classifying_stage.h"
#include "mangrove/train/pipeline_cut.h"
#include "mangrove/train/pipeline_settings.h"
#include "mangrove/train/recipe.h"
#include "mangrove/train/stage.h"
#include "mangrove/train/stage_passage.h"
#include "mangrove/train/tags.h"
#include "mangrove/train/worker_role.h"

namespace mangrove::train {
namespace {

constexpr Bytes kConnection = MiB(12);  // of gRPC, once messages flow
constexpr Seconds kMeasuring = 0.2;     // of a stage's operators, or the fewest runs

class StageWorker final : public WorkerRole {
 public:
  StageWorker(const TrainJob& job, net::RoleContext& context, ShardFetcher* fetcher, Schedule schedule)
      : WorkerRole(job, context, fetcher),
        schedule_(schedule),
        timer_(context),
        parts_(context, kStageTag, interruption_) {}

 private:
  using Phase = StepTimer::Phase;
  Status prepare() override;
  void describe(Hello& hello) override { data_->describe(hello); }
  Status handle(const Work& work, std::string_view body) override;
  bool accepts(const Work& work, std::string_view body);
  Status profile(const Work& work);
  Status train(const Work& work);
  Status classify(const Work& work);
  Status make_stage(const Pipeline& pipeline, std::int64_t in_flight, std::int64_t stale, Answer& answer);
  Result<std::size_t> state_elements(const PipelineStage& place) const;
  learn::MemoryBudget budget(std::int64_t micro_batch, std::int64_t in_flight) const;
  Result<bool> run_actions(StagePassage& passage, const Work& work, std::span<const Action> actions, Answer& answer);
  Result<bool> forward(StagePassage& passage, std::int64_t micro_batch, const Work& work, Answer& answer);
  Result<bool> backward(StagePassage& passage, std::int64_t micro_batch, StageWork& done);
  void update(float learning_rate, StageWork& done);
  void count(const StagePassage::MicroBatch& micro_batch, const StagePassage::Targets& targets,
             std::span<const float> logits, Answer& answer) const;
  StagePassage::Tools tools(const Work& work);
  void lay_aside();
  void send(Answer answer, std::uint64_t round, std::span<const float> state = {});

  const Schedule schedule_;
  StepTimer timer_;
  PartExchange parts_;
  Recipe recipe_;
  std::optional<Graph> graph_;  // whole, without the weights
  std::optional<learn::Loss> loss_;
  std::int32_t classes_ = 0;
  std::unique_ptr<Sources> data_;
  std::uint64_t round_ = 0;  // of the last work

  PipelineStage place_;                                        // that this worker's state is of
  std::int64_t version_ = -1;                                  // of the state, updates; -1: there is none
  std::unique_ptr<Stage> stage_;                               // null: not made, or laid aside
  std::vector<float> state_;                                   // then
  bool tells_memory_ = false;                                  // with the next stage that is made
  std::map<std::int64_t, std::vector<float>> loss_gradients_;  // of the last stage, by micro-batch
};

Status StageWorker::prepare() {
  MG_TRY(const Graph graph, parse_onnx(job_.model()).context("model"));  // its weights come again, with the work
  MG_RETURN_IF_ERROR(learn::check_single_exit(graph));
  graph_ = graph.without_weights();
  classes_ = static_cast<std::int32_t>(graph.value(graph.outputs()[0]).shape[1]);
  MG_TRY(recipe_, recipe_of(job_));
  MG_TRY(loss_, learn::Loss::create(recipe_.loss));
  MG_TRY(const Sources::Splits splits, Sources::open(job_, context_.data_folder, fetcher_));
  MG_TRY(data_, Sources::create(job_, splits, context_, fetcher_));
  return {};
}

Status StageWorker::handle(const Work& work, std::string_view body) {
  timer_.take(work);
  if (!accepts(work, body)) {
    log_warn("work cannot be done", {{"round", work.round()}, {"version", work.version()}});
    return {};
  }
  if (work.kind() == Work::PROFILE) return profile(work);
  return work.kind() == Work::TRAIN ? train(work) : classify(work);
}

/// With the state that the work brings, or the one that is here.
bool StageWorker::accepts(const Work& work, std::string_view body) {
  const bool is_known = work.kind() == Work::TRAIN || work.kind() == Work::EVALUATE || work.kind() == Work::PROFILE;
  if (!is_known || work.round() <= round_) return false;
  round_ = work.round();
  const auto index = index_of(work.pipeline(), context_.endpoint.rank());
  if (!index || !is_pipeline_of(work.pipeline(), *graph_, context_.endpoint.size())) return false;
  if (work.kind() == Work::PROFILE) return true;
  if (work.pipeline().micro_batch() > job_.batch()) return false;
  const std::int64_t steps = (work.samples_size() + job_.batch() - 1) / job_.batch();
  if (work.kind() == Work::TRAIN && work.learning_rates_size() != steps) return false;
  if (!data_->of(work).has({work.samples().begin(), work.samples().end()})) return false;
  const PipelineStage& place = work.pipeline().stages(*index);
  if (!work.state())
    return version_ >= 0 && version_ == work.version() && place.first() == place_.first() &&
           place.last() == place_.last();
  stage_.reset();
  version_ = -1;
  state_.resize(body.size() / sizeof(float));
  if (!net::read_floats(body, state_).ok()) return false;
  const auto elements = state_elements(place);
  if (!elements.ok() || *elements != state_.size()) return false;
  place_ = place;
  version_ = work.version();
  tells_memory_ = true;
  return true;
}

/// Of a state: see Stage::state_elements.
Result<std::size_t> StageWorker::state_elements(const PipelineStage& place) const {
  MG_TRY(const StageSizes sizes, stage_sizes(*graph_, {place.first(), place.last()}));
  MG_TRY(const learn::OptimizerRow* optimizer, learn::find_optimizer(recipe_.optimizer.name));
  return sizes.parameters * (1 + optimizer->slots) + sizes.states;
}

/// Of the stage's operators, forward and backward.
Status StageWorker::profile(const Work& work) {
  const auto index = index_of(work.pipeline(), context_.endpoint.rank());
  const PipelineStage& place = work.pipeline().stages(*index);
  MG_TRY(const Graph slice, graph_->slice(place.first(), place.last()));
  Answer answer;
  if (context_.resident) {  // simulated: what this machine would take says nothing
    for (const double cost : computed_costs(slice, work.pipeline().micro_batch())) answer.add_operator_s(cost);
  } else {
    lay_aside();
    const plan::MeasureOptions options{.batch = work.pipeline().micro_batch(),
                                       .threads = context_.threads,
                                       .backend = job_.backend(),
                                       .training = true,
                                       .seconds = kMeasuring};
    MG_TRY(const plan::Profile measured, plan::measure_profile(slice, options, context_.clock));
    for (const plan::OperatorProfile& one : measured.operators) answer.add_operator_s(one.forward + one.backward);
  }
  send(std::move(answer), work.round());
  return {};
}

/// The training stage makes room for another; what it has come to stays.
void StageWorker::lay_aside() {
  if (stage_ == nullptr) return;
  state_.resize(stage_->state_elements());
  stage_->read_state(state_);
  stage_.reset();
}

/// Beside its program a stage's process holds messages of values and gradients, of each micro-batch under way; its
/// state, twice as it travels; and where samples are read, batches: those that are loaded ahead, and the one in use.
learn::MemoryBudget StageWorker::budget(std::int64_t micro_batch, std::int64_t in_flight) const {
  constexpr auto kFloat = static_cast<Bytes>(sizeof(float));
  const Bytes sample = data_->train().dataset().sample_shape().elements() * kFloat;
  const Bytes batches = place_.first() == 0 ? 5 * job_.batch() * sample + data_->cached() : 0;
  const Bytes state = static_cast<Bytes>(state_.size()) * kFloat;
  const Bytes messages = 2 * (in_flight + 1) * crossing_bytes(*graph_, {place_.first(), place_.last()}, micro_batch);
  return {.limit = job_.memory(),
          .reserved = kConnection + batches + 2 * state + messages,
          .released = static_cast<Bytes>(state_.capacity()) * kFloat,
          .resident = context_.resident};
}

Status StageWorker::make_stage(const Pipeline& pipeline, std::int64_t in_flight, std::int64_t stale, Answer& answer) {
  if (stage_ && stage_->options().micro_batch == pipeline.micro_batch() && stage_->options().in_flight >= in_flight)
    return {};
  lay_aside();
  const learn::MemoryBudget budget = this->budget(pipeline.micro_batch(), in_flight);
  MG_TRY(const Stage::Recompute recompute, parse_recompute(job_.recompute()));
  const StageOptions options{.micro_batch = pipeline.micro_batch(),
                             .in_flight = in_flight,
                             .stale_versions = stale,
                             .backend = job_.backend(),
                             .threads = context_.threads,
                             .optimizer = recipe_.optimizer};
  MG_TRY(stage_, Stage::create(*graph_, place_.first(), place_.last(), options, recompute, budget));
  stage_->write_state(state_);
  state_ = {};
  if (!std::exchange(tells_memory_, false)) return {};
  const Stage::Memory& memory = stage_->memory();
  MemoryPlan& plan = *answer.mutable_memory();
  plan.set_micro_batch(pipeline.micro_batch());
  plan.set_micro_batches((job_.batch() + pipeline.micro_batch() - 1) / pipeline.micro_batch());
  plan.set_recomputed_share(stage_->recomputes() ? 1 : 0);
  plan.set_predicted_peak(context_.resident.value_or(resident_memory()) + budget.reserved + memory.total());
  plan.set_unlimited(memory.total() - memory.kept + memory.kept_activations);
  return {};
}

StagePassage::Tools StageWorker::tools(const Work& work) {
  return {.context = context_,
          .parts = parts_,
          .timer = timer_,
          .samples = data_->of(work),
          .interruption = interruption_,
          .patience = step_timeout(job_) / 3,
          .batch = job_.batch()};
}

Status StageWorker::train(const Work& work) {
  const Pipeline& pipeline = work.pipeline();
  const auto index = static_cast<std::size_t>(*index_of(pipeline, context_.endpoint.rank()));
  const auto stages = static_cast<std::size_t>(pipeline.stages_size());
  const auto micro_batches = divide(work.samples_size(), job_.batch(), pipeline.micro_batch());
  const std::vector<Action> actions = schedule_(index, stages, micro_batches, job_.ahead());
  const std::vector<std::int64_t> late = staleness(actions);
  const std::int64_t most_late = late.empty() ? 0 : *std::max_element(late.begin(), late.end());
  Answer answer;
  answer.mutable_stage()->set_in_flight(most_in_flight(actions));
  timer_.enter(Phase::encode);
  MG_RETURN_IF_ERROR(make_stage(pipeline, answer.stage().in_flight(), most_late, answer));
  StagePassage passage(work, index, stage_->values(), tools(work));
  loss_gradients_.clear();
  MG_TRY(const bool finished, run_actions(passage, work, actions, answer));
  if (!finished) {
    stage_->reset();
    return {};
  }
  version_ = work.version() + work.learning_rates_size();
  answer.set_count(work.samples_size());
  std::vector<float> state(stage_->state_elements());
  stage_->read_state(state);
  send(std::move(answer), work.round(), state);
  return {};
}

Result<bool> StageWorker::run_actions(StagePassage& passage, const Work& work, std::span<const Action> actions,
                                      Answer& answer) {
  StageWork& done = *answer.mutable_stage();
  const auto total = static_cast<double>(actions.size());
  int updates = 0, finished = 0;
  version_ = work.version();
  for (const Action& action : actions) {
    bool goes_on = true;
    switch (action.kind) {
      case Action::Kind::forward: {
        MG_TRY(goes_on, forward(passage, action.micro_batch, work, answer));
        break;
      }
      case Action::Kind::backward: {
        MG_TRY(goes_on, backward(passage, action.micro_batch, done));
        break;
      }
      case Action::Kind::update: {
        update(work.learning_rates(updates++), done);
        break;
      }
    }
    if (goes_on) {
      MG_TRY(const bool interrupted, passage.is_interrupted(static_cast<double>(++finished) / total));
      goes_on = !interrupted;
    }
    if (goes_on) continue;
    version_ = -1;
    return false;
  }
  return true;
}

Result<bool> StageWorker::forward(StagePassage& passage, std::int64_t number, const Work& work, Answer& answer) {
  const StagePassage::MicroBatch& micro_batch = passage.micro_batches()[static_cast<std::size_t>(number)];
  MG_TRY(const auto received, passage.receive_values(number));
  if (!received) return false;
  timer_.enter(Phase::compute);
  const Instant start = context_.clock.now();
  context_.computing(stage_->forward_flops());
  const std::uint64_t seed = learn::step_seed(job_.seed() + static_cast<std::uint64_t>(number), work.version(),
                                              static_cast<int>(place_.first()));
  const std::span<const float> values = stage_->forward(number, *received, seed);
  StageWork& done = *answer.mutable_stage();
  done.set_forward_passes(done.forward_passes() + 1);
  done.set_forward_s(done.forward_s() + (context_.clock.now() - start));
  if (!passage.is_last()) {
    passage.send_values(values);
    return true;
  }
  MG_TRY(const auto targets, passage.receive_targets(classes_));
  if (!targets) return false;
  timer_.enter(Phase::compute);
  std::vector<float>& gradient = loss_gradients_[number];
  gradient.resize(values.size());
  const float scale = 1.0f / static_cast<float>(passage.samples(micro_batch.mini_batch));
  const learn::BatchStats stats =
      (*loss_)(values, classes_, {.labels = targets->labels, .second = targets->second, .share = targets->share}, scale,
               gradient);
  answer.set_loss(answer.loss() + stats.loss);
  answer.set_correct(answer.correct() + stats.correct);
  return true;
}

Result<bool> StageWorker::backward(StagePassage& passage, std::int64_t number, StageWork& done) {
  std::span<const float> gradient;
  std::vector<float> of_loss;
  if (passage.is_last()) {
    of_loss = std::move(loss_gradients_.extract(number).mapped());
    gradient = of_loss;
  } else {
    MG_TRY(const auto received, passage.receive_gradients());
    if (!received) return false;
    gradient = *received;
  }
  timer_.enter(Phase::compute);
  const Instant start = context_.clock.now();
  context_.computing(2 * stage_->forward_flops());
  const std::span<const float> sent_back = stage_->backward(number, gradient);
  done.set_backward_s(done.backward_s() + (context_.clock.now() - start));
  if (!passage.is_first()) passage.send_gradients(sent_back);
  return true;
}

void StageWorker::update(float learning_rate, StageWork& done) {
  timer_.enter(Phase::compute);
  const Instant start = context_.clock.now();
  stage_->update(learning_rate, ++version_);
  done.set_backward_s(done.backward_s() + (context_.clock.now() - start));
  const auto late = static_cast<int>(stage_->last_staleness());
  while (done.staleness_size() <= late) done.add_staleness(0);
  done.set_staleness(late, done.staleness(late) + 1);
  timer_.end_step();
}

/// The last stage has the classes.
Status StageWorker::classify(const Work& work) {
  lay_aside();
  const Pipeline& pipeline = work.pipeline();
  const auto index = static_cast<std::size_t>(*index_of(pipeline, context_.endpoint.rank()));
  MG_TRY(const auto stage, ClassifyingStage::create(*graph_, {place_.first(), place_.last()}, state_,
                                                    {pipeline.micro_batch(), job_.backend(), context_.threads}));
  StagePassage passage(work, index, stage->values(), tools(work));
  Answer answer;
  for (const Action& action : forward_schedule(static_cast<std::int64_t>(passage.micro_batches().size()))) {
    MG_TRY(const auto received, passage.receive_values(action.micro_batch));
    if (!received) return {};
    context_.computing(stage->forward_flops());
    const std::span<const float> values = stage->forward(*received);
    if (!passage.is_last()) {
      passage.send_values(values);
    } else {
      MG_TRY(const auto targets, passage.receive_targets(classes_));
      if (!targets) return {};
      count(passage.micro_batches()[static_cast<std::size_t>(action.micro_batch)], *targets, values, answer);
    }
    const auto done = static_cast<double>(action.micro_batch + 1);
    MG_TRY(const bool interrupted, passage.is_interrupted(done / static_cast<double>(passage.micro_batches().size())));
    if (interrupted) return {};
  }
  answer.set_count(work.samples_size());
  send(std::move(answer), work.round());
  return {};
}

/// The classes of a micro-batch, and its part of the loss of its mini-batch.
void StageWorker::count(const StagePassage::MicroBatch& micro_batch, const StagePassage::Targets& targets,
                        std::span<const float> logits, Answer& answer) const {
  const auto rows = static_cast<std::size_t>(micro_batch.count);
  const std::span<const float> real = logits.first(rows * static_cast<std::size_t>(classes_));
  const std::span<const std::int32_t> labels = std::span(targets.labels).first(rows);
  const learn::BatchStats stats = loss_->unsmoothed()(real, classes_, {.labels = labels}, 1, {});
  const auto mini_batch = static_cast<int>(micro_batch.mini_batch);
  while (answer.losses_size() <= mini_batch) answer.add_losses(0);
  answer.set_losses(mini_batch, answer.losses(mini_batch) + stats.loss);
  for (const std::int32_t predicted : learn::argmax_rows(real, classes_)) answer.add_predictions(predicted);
  for (const std::int32_t label : labels) answer.add_truths(label);
}

void StageWorker::send(Answer answer, std::uint64_t round, std::span<const float> state) {
  answer.set_round(round);
  answer.set_peak_resident(context_.resident ? answer.memory().predicted_peak() : peak_resident_memory());
  const StageWork& done = answer.stage();
  answer.set_compute_s(done.forward_s() + done.backward_s());
  const Exchanged& exchanged = parts_.exchanged();
  answer.set_peer_messages(exchanged.messages);
  answer.set_peer_bytes(exchanged.bytes);
  answer.set_peer_float_bytes(exchanged.float_bytes);
  std::string payload = net::begin_payload(answer.SerializeAsString(), state.size_bytes());
  net::append_floats(payload, state);
  context_.endpoint.send(0, kAnswerTag, std::move(payload));
}

}  // namespace

Status run_stage_worker(const TrainJob& job, net::RoleContext& context, Schedule schedule) {
  return play_worker<StageWorker>(job, context, schedule);
}

}  // namespace mangrove::train
