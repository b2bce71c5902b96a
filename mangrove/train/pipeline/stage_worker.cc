#include "mangrove/train/pipeline/stage_worker.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/base/log.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/plan/layers.h"
#include "mangrove/train/hyperparameters.h"
#include "mangrove/train/pipeline/classifying_stage.h"
#include "mangrove/train/pipeline/cut.h"
#include "mangrove/train/pipeline/iteration.h"
#include "mangrove/train/pipeline/places.h"
#include "mangrove/train/pipeline/settings.h"
#include "mangrove/train/pipeline/stage.h"
#include "mangrove/train/pipeline/stage_budget.h"
#include "mangrove/train/pipeline/stage_load_meter.h"
#include "mangrove/train/pipeline/stage_profile.h"
#include "mangrove/train/strategy_row.h"
#include "mangrove/train/tags.h"
#include "mangrove/train/transfer_stats.h"
#include "mangrove/train/worker_role.h"

namespace mangrove::train {
namespace {

class StageWorker final : public WorkerRole {
 public:
  StageWorker(const TrainJob& job, job::RoleContext& context, ShardFetcher* fetcher)
      : WorkerRole(job, context, fetcher), timer_(context), load_(context), parts_(context, kStageTag, interruption_) {}

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
  Bytes state_bytes() const { return static_cast<Bytes>(state_.size() * sizeof(float)); }
  Result<bool> run_actions(PipelineIteration& iteration, const Work& work, std::span<const Action> actions,
                           Answer& answer);
  Result<bool> forward(PipelineIteration& iteration, std::int64_t micro_batch, const Work& work, Answer& answer);
  Result<bool> backward(PipelineIteration& iteration, std::int64_t micro_batch);
  void update(float learning_rate, StageWork& done);
  void begin_mini_batch(const PipelineIteration& iteration, std::int64_t first);
  Result<bool> add_up(PipelineIteration& iteration, std::int64_t last);
  PipelineIteration::Tools tools(const Work& work);
  void lay_aside();
  void send(Answer answer, std::uint64_t round, std::span<const float> state = {});

  StepTimer timer_;
  StageLoadMeter load_;
  ChunkChannel parts_;
  Hyperparameters recipe_;
  std::optional<Graph> graph_;  // whole, without the weights
  std::optional<learn::Loss> loss_;
  std::int32_t classes_ = 0;
  std::unique_ptr<Sources> data_;
  std::optional<StageBudget> budget_;
  std::uint64_t round_ = 0;  // of the last work

  PipelineStage place_;                                        // that this worker's state is of
  std::int64_t version_ = -1;                                  // of the state, updates; -1: there is none
  std::unique_ptr<Stage> stage_;                               // null: not made, or laid aside
  std::vector<float> state_;                                   // then
  bool tells_memory_ = false;                                  // with the next stage that is made
  std::map<std::int64_t, std::vector<float>> loss_gradients_;  // of the last stage, by micro-batch
  std::int64_t passed_ = 0;  // micro-batches whose forward pass some replica of the stage has made
  std::vector<float> sums_;  // of the replicas, before an update
};

Status StageWorker::prepare() {
  MG_TRY(const Graph graph, parse_onnx(job_.model()).context("model"));  // its weights come again, with the work
  MG_RETURN_IF_ERROR(learn::check_single_exit(graph));
  graph_ = graph.without_weights();
  classes_ = static_cast<std::int32_t>(graph.value(graph.outputs()[0]).shape[1]);
  MG_TRY(recipe_, hyperparameters_of(job_));
  MG_TRY(loss_, learn::Loss::create(recipe_.loss));
  MG_TRY(const Sources::Splits splits, Sources::open(job_, context_.data_folder, fetcher_));
  MG_TRY(data_, Sources::create(job_, splits, context_, fetcher_));
  budget_.emplace(job_, context_, *data_);
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
  if (work.pipeline().micro_batch() < 1 || work.pipeline().micro_batch() > job_.batch()) return false;
  if (work.kind() == Work::PROFILE) return work.parts() >= 1;
  const auto at = place_of(work.pipeline(), context_.endpoint.rank());
  if (!at || !is_pipeline_of(work.pipeline(), *graph_, context_.endpoint.size())) return false;
  const std::int64_t steps = (work.samples_size() + job_.batch() - 1) / job_.batch();
  if (work.kind() == Work::TRAIN && work.learning_rates_size() != steps) return false;
  if (!data_->of(work).has({work.samples().begin(), work.samples().end()})) return false;
  const PipelineStage& place = work.pipeline().stages(static_cast<int>(at->stage));
  if (!work.state()) {
    const bool is_same = place.first() == place_.first() && place.last() == place_.last();
    if (is_same) place_ = place;
    return is_same && version_ >= 0 && version_ == work.version();
  }
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

/// Of the network's operators. The leader hears of it after each part.
Status StageWorker::profile(const Work& work) {
  lay_aside();
  const ProfileOptions options{.micro_batch = work.pipeline().micro_batch(),
                               .backend = job_.backend(),
                               .threads = context_.threads,
                               .parts = work.parts(),
                               .slowdown = context_.device.slowdown(1)};
  Answer answer;
  answer.set_count(work.parts());
  StageProfile& profile = *answer.mutable_profile();
  const auto tell = [&](std::int64_t parts) {
    Answer so_far;
    so_far.set_round(work.round());
    so_far.set_done(parts);
    context_.endpoint.send(0, kAnswerTag, net::begin_payload(so_far.SerializeAsString(), 0));
  };
  if (context_.device.is_simulated()) {  // what this machine would take says nothing
    profile = simulated_stages(*graph_, options.micro_batch, context_);
  } else {
    MG_TRY(profile, measure_stages(*graph_, options, context_.clock, tell));
  }
  const Bytes room = learn::memory_left(budget_->process(state_bytes()));
  profile.set_room(room > plan::kMostBytes ? 0 : std::max<Bytes>(1, room));
  profile.set_reading(budget_->reading());
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

Status StageWorker::make_stage(const Pipeline& pipeline, std::int64_t in_flight, std::int64_t stale, Answer& answer) {
  if (stage_ && stage_->options().micro_batch == pipeline.micro_batch() && stage_->options().in_flight >= in_flight)
    return {};
  lay_aside();
  const learn::MemoryBudget budget = budget_->stage(*graph_, place_, pipeline.micro_batch(), in_flight, state_bytes());
  MG_TRY(const Stage::Recompute recompute, parse_recompute(job_.recompute()));
  const StageOptions options{.micro_batch = pipeline.micro_batch(),
                             .in_flight = in_flight,
                             .stale_versions = stale,
                             .backend = job_.backend(),
                             .threads = context_.threads,
                             .optimizer = recipe_.optimizer};
  MG_TRY(stage_, Stage::create(*graph_, place_.first(), place_.last(), options, recompute, budget));
  load_.begin_stage();
  stage_->write_state(state_);
  state_ = {};
  if (std::exchange(tells_memory_, false)) budget_->describe(*stage_, budget, *answer.mutable_memory());
  return {};
}

PipelineIteration::Tools StageWorker::tools(const Work& work) {
  return {.context = context_,
          .parts = parts_,
          .timer = timer_,
          .samples = data_->of(work),
          .interruption = interruption_,
          .patience = job_.step_timeout_s() / 3,
          .batch = job_.batch()};
}

Status StageWorker::train(const Work& work) {
  const Pipeline& pipeline = work.pipeline();
  const StagePlace place = *place_of(pipeline, context_.endpoint.rank());
  const auto micro_batches = divide(work.samples_size(), job_.batch(), pipeline.micro_batch());
  const Schedule schedule = strategy_of(job_).pipeline->actions;
  const std::vector<Action> actions = own_actions(pipeline, place, schedule, micro_batches, job_.ahead());
  const std::vector<std::int64_t> late = staleness(actions);
  const std::int64_t most_late = late.empty() ? 0 : *std::max_element(late.begin(), late.end());
  Answer answer;
  answer.mutable_stage()->set_in_flight(most_in_flight(actions));
  timer_.enter(Phase::encode);
  MG_RETURN_IF_ERROR(make_stage(pipeline, std::max<std::int64_t>(1, answer.stage().in_flight()), most_late, answer));
  PipelineIteration iteration(work, place, stage_->values(), tools(work));
  loss_gradients_.clear();
  load_.begin_iteration();
  begin_mini_batch(iteration, 0);
  MG_TRY(const bool finished, run_actions(iteration, work, actions, answer));
  if (!finished) {
    stage_->reset();
    return {};
  }
  load_.tell(*answer.mutable_stage());
  answer.mutable_stage()->set_recomputes(stage_->recomputes());
  version_ = work.version() + work.learning_rates_size();
  answer.set_count(work.samples_size());
  std::vector<float> state(place.replica == 0 ? stage_->state_elements() : 0);  // the others have the same
  if (!state.empty()) stage_->read_state(state);
  send(std::move(answer), work.round(), state);
  return {};
}

void StageWorker::begin_mini_batch(const PipelineIteration& iteration, std::int64_t first) {
  if (iteration.has_replicas()) stage_->begin_share(iteration.is_first_replica());
  passed_ = first;
}

/// All replicas' gradients become their sums. last: micro-batch of the mini-batch.
Result<bool> StageWorker::add_up(PipelineIteration& iteration, std::int64_t last) {
  if (!iteration.has_replicas()) return true;
  stage_->skip(last + 1 - passed_);
  sums_.resize(stage_->sum_elements());
  stage_->read_sums(sums_);
  MG_TRY(const bool are_added, iteration.add_up(sums_));
  if (are_added) stage_->write_sums(sums_);
  return are_added;
}

Result<bool> StageWorker::run_actions(PipelineIteration& iteration, const Work& work, std::span<const Action> actions,
                                      Answer& answer) {
  StageWork& done = *answer.mutable_stage();
  const auto total = static_cast<double>(actions.size());
  int updates = 0, finished = 0;
  version_ = work.version();
  for (const Action& action : actions) {
    bool goes_on = true;
    switch (action.kind) {
      case Action::Kind::forward: {
        MG_TRY(goes_on, forward(iteration, action.micro_batch, work, answer));
        break;
      }
      case Action::Kind::backward: {
        MG_TRY(goes_on, backward(iteration, action.micro_batch));
        break;
      }
      case Action::Kind::update: {
        MG_TRY(goes_on, add_up(iteration, action.micro_batch));
        if (!goes_on) break;
        update(work.learning_rates(updates++), done);
        if (updates < work.learning_rates_size()) begin_mini_batch(iteration, action.micro_batch + 1);
        break;
      }
    }
    if (goes_on) {
      MG_TRY(const bool interrupted, iteration.is_interrupted(static_cast<double>(++finished) / total));
      goes_on = !interrupted;
    }
    if (goes_on) continue;
    version_ = -1;
    return false;
  }
  return true;
}

Result<bool> StageWorker::forward(PipelineIteration& iteration, std::int64_t number, const Work& work, Answer& answer) {
  const MicroBatch& micro_batch = iteration.micro_batches()[static_cast<std::size_t>(number)];
  MG_TRY(const auto received, iteration.receive_values(number));
  if (!received) return false;
  timer_.enter(Phase::compute);
  const Instant start = context_.clock.now();
  context_.device.charge(stage_->forward_flops());
  if (iteration.has_replicas()) stage_->skip(number - std::exchange(passed_, number + 1));
  const std::uint64_t seed = learn::step_seed(job_.seed() + static_cast<std::uint64_t>(number), work.version(),
                                              static_cast<int>(place_.first()));
  const std::span<const float> values = stage_->forward(number, *received, seed);
  load_.add_forward(context_.clock.now() - start);
  if (!iteration.is_last()) {
    iteration.send_values(number, values);
    return true;
  }
  MG_TRY(const auto targets, iteration.receive_targets(number, classes_));
  if (!targets) return false;
  timer_.enter(Phase::compute);
  std::vector<float>& gradient = loss_gradients_[number];
  gradient.resize(values.size());
  const float scale = 1.0f / static_cast<float>(iteration.samples(micro_batch.mini_batch));
  const learn::BatchStats stats =
      (*loss_)(values, classes_, {.labels = targets->labels, .second = targets->second, .share = targets->share}, scale,
               gradient);
  answer.set_loss(answer.loss() + stats.loss);
  answer.set_correct(answer.correct() + stats.correct);
  return true;
}

Result<bool> StageWorker::backward(PipelineIteration& iteration, std::int64_t number) {
  std::span<const float> gradient;
  std::vector<float> of_loss;
  if (iteration.is_last()) {
    of_loss = std::move(loss_gradients_.extract(number).mapped());
    gradient = of_loss;
  } else {
    MG_TRY(const auto received, iteration.receive_gradients(number));
    if (!received) return false;
    gradient = *received;
  }
  timer_.enter(Phase::compute);
  const Instant start = context_.clock.now();
  context_.device.charge(2 * stage_->forward_flops());
  const std::span<const float> sent_back = stage_->backward(number, gradient);
  load_.add_backward(context_.clock.now() - start);
  if (!iteration.is_first()) iteration.send_gradients(number, sent_back);
  return true;
}

void StageWorker::update(float learning_rate, StageWork& done) {
  timer_.enter(Phase::compute);
  const Instant start = context_.clock.now();
  stage_->update(learning_rate, ++version_);
  load_.add_update(context_.clock.now() - start);
  const auto late = static_cast<int>(stage_->last_staleness());
  while (done.staleness_size() <= late) done.add_staleness(0);
  done.set_staleness(late, done.staleness(late) + 1);
  timer_.end_step();
}

/// The last stage has the classes.
Status StageWorker::classify(const Work& work) {
  lay_aside();
  const Pipeline& pipeline = work.pipeline();
  const StagePlace place = *place_of(pipeline, context_.endpoint.rank());
  MG_TRY(const auto stage, ClassifyingStage::create(*graph_, {place_.first(), place_.last()}, state_,
                                                    {pipeline.micro_batch(), job_.backend(), context_.threads}));
  PipelineIteration iteration(work, place, stage->values(), tools(work));
  Answer answer;
  const auto count = static_cast<std::int64_t>(iteration.micro_batches().size());
  for (const Action& action : iteration.own(forward_schedule(count))) {
    MG_TRY(const auto received, iteration.receive_values(action.micro_batch));
    if (!received) return {};
    context_.device.charge(stage->forward_flops());
    const std::span<const float> values = stage->forward(*received);
    if (!iteration.is_last()) {
      iteration.send_values(action.micro_batch, values);
    } else {
      MG_TRY(const auto targets, iteration.receive_targets(action.micro_batch, classes_));
      if (!targets) return {};
      const auto& micro_batch = iteration.micro_batches()[static_cast<std::size_t>(action.micro_batch)];
      add_classes(micro_batch, *targets, values, *loss_, answer);
    }
    const double done = static_cast<double>(action.micro_batch + 1) / static_cast<double>(count);
    MG_TRY(const bool interrupted, iteration.is_interrupted(done));
    if (interrupted) return {};
  }
  const auto mini_batches = static_cast<int>((work.samples_size() + job_.batch() - 1) / job_.batch());
  while (answer.predictions_size() > 0 && answer.losses_size() < mini_batches) answer.add_losses(0);
  answer.set_count(work.samples_size());
  send(std::move(answer), work.round());
  return {};
}

void StageWorker::send(Answer answer, std::uint64_t round, std::span<const float> state) {
  answer.set_round(round);
  answer.set_peak_resident(context_.device.peak_memory(answer.memory().predicted_peak()));
  const StageWork& done = answer.stage();
  answer.set_compute_s(done.forward_s() + done.backward_s());
  put_transfer_stats(parts_.transfer_stats(), answer);
  std::string payload = net::begin_payload(answer.SerializeAsString(), state.size_bytes());
  net::append_floats(payload, state);
  context_.endpoint.send(0, kAnswerTag, std::move(payload));
}

}  // namespace

Status run_stage_worker(const TrainJob& job, job::RoleContext& context) {
  return play_worker<StageWorker>(job, context);
}

}  // namespace mangrove::train
