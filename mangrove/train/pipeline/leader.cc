#include "mangrove/train/pipeline/leader.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"
#include "mangrove/train/data_parallel/leader.h"
#include "mangrove/train/pipeline/cut.h"
#include "mangrove/train/pipeline/meter.h"
#include "mangrove/train/pipeline/placed_stages.h"
#include "mangrove/train/pipeline/places.h"
#include "mangrove/train/pipeline/plan.h"
#include "mangrove/train/pipeline/replanner.h"
#include "mangrove/train/pipeline/settings.h"
#include "mangrove/train/strategy_row.h"

namespace mangrove::train {
namespace {

constexpr std::int64_t kProfiledParts = 8;

class PipelineLeader final : public Leader {
 public:
  PipelineLeader(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
                 std::unique_ptr<GlobalModel> model, CutRule rule, std::size_t optimizer_slots)
      : Leader(job, context, recipe, std::move(model)),
        rule_(std::move(rule)),
        optimizer_slots_(optimizer_slots),
        most_stages_(most_stages(Leader::global_model().graph())),
        stages_(Leader::global_model().graph(), optimizer_slots) {}

 private:
  Status advance() override;
  Result<Evaluation> classify(const EvaluationTask& task) override;
  void drop(const WorkerRoster::Dropped& dropped) override;
  std::int64_t samples_per_step(std::size_t) const override { return static_cast<std::int64_t>(batch()); }
  std::size_t workers_in_step(std::size_t) const override { return 1; }
  bool can_be_advised() const override { return false; }

  Status settle();
  std::size_t stages_wanted(std::size_t workers) const;
  std::size_t devices_wanted(std::size_t workers) const;
  bool has_newcomers(const net::RankSet& ranks) const;
  bool is_measured() const { return rule_.kind == CutRule::Kind::measured; }
  Status cut(const net::RankSet& ranks);
  Result<std::vector<PlannedStage>> planned(const net::RankSet& ranks, bool must_fit = false);
  Status use(const std::vector<PlannedStage>& stages, const net::RankSet& ranks);
  Status revise();
  void report_changes(const std::vector<PlacedStage>& before);
  bool replace_missing(const net::RankSet& ranks);
  net::RankSet not_measured(const net::RankSet& ranks) const;
  Status measure(const net::RankSet& ranks);
  Result<bool> pass(Work work);
  Status keep_states();
  Status finish(std::int64_t steps, Seconds seconds);
  WorkerRoster::Answered last_answer() const;

  const CutRule rule_;
  const std::size_t optimizer_slots_;
  const std::size_t most_stages_;
  std::int64_t micro_batch_ = 0;                // settled with the first stages
  std::map<net::Rank, StageProfile> profiles_;  // where the cut is by measured times
  PlacedStages stages_;
  net::RankSet planned_for_;                             // ranks that could have had one of them
  net::RankSet asked_;                                   // of the last iteration, or to measure
  std::uint64_t iteration_ = 0;                          // number of the last one
  bool is_broken_ = false;                               // it: a stage will not come to its end
  std::map<net::Rank, WorkerRoster::Answered> answers_;  // of it
  std::optional<PipelineMeter> meter_;                   // of these stages
  std::optional<PipelineReplanner> replanner_;           // of them, where the cut is by measured times
  int revisions_ = 0;                                    // so far
};

/// An iteration of some mini-batches: all stages come to its end, and have a version in common; or it did not happen.
Status PipelineLeader::advance() {
  MG_RETURN_IF_ERROR(settle());
  const std::size_t count = static_cast<std::size_t>(job().local_steps()) * batch();
  Work work = assign({stages_.keeper()}, count).at(stages_.keeper());
  set_local_steps(work, count);
  const std::int64_t steps = work.learning_rates_size();
  const Instant start = context().clock.now();
  MG_TRY(const bool passed, pass(std::move(work)));
  return passed ? finish(steps, context().clock.now() - start) : Status();
}

/// Until every stage has a worker that is there.
Status PipelineLeader::settle() {
  while (true) {
    while (workers().ready().empty()) MG_RETURN_IF_ERROR(next_answer());
    const net::RankSet ranks = workers().ready();
    if (!stages_.all().empty() && !has_newcomers(ranks) && replace_missing(ranks)) return {};
    if (micro_batch_ == 0) micro_batch_ = pipeline_micro_batch(job(), devices_wanted(ranks.size()));
    const net::RankSet unknown = not_measured(ranks);
    if (unknown.empty()) return cut(ranks);
    MG_RETURN_IF_ERROR(measure(unknown));
  }
}

/// Who was not there when the network was cut, and could have a stage of its own.
bool PipelineLeader::has_newcomers(const net::RankSet& ranks) const {
  const auto is_known = [&](net::Rank rank) { return std::ranges::count(planned_for_, rank) > 0; };
  return stages_.devices() < devices_wanted(ranks.size()) && !std::ranges::all_of(ranks, is_known);
}

std::size_t PipelineLeader::stages_wanted(std::size_t workers) const {
  std::size_t wanted = job().stages() > 0 ? static_cast<std::size_t>(job().stages()) : most_stages_;
  if (rule_.kind == CutRule::Kind::behind) wanted = rule_.nodes.size() + 1;
  return std::min({wanted, workers, most_stages_});
}

std::size_t PipelineLeader::devices_wanted(std::size_t workers) const {
  const auto replicas = static_cast<std::size_t>(job().replicas());
  if (replicas == 1) return stages_wanted(workers);
  return replicas == 0 ? workers : std::min(workers, replicas * most_stages_);
}

/// By another worker each, which is as good. False: there are not enough.
bool PipelineLeader::replace_missing(const net::RankSet& ranks) {
  std::set<net::Rank> spare(ranks.begin(), ranks.end());
  for (const PlacedStage& stage : stages_.all())
    for (const StageHolder& holder : stage.holders) spare.erase(holder.rank);
  for (PlacedStage& stage : stages_.all()) {
    for (StageHolder& holder : stage.holders) {
      if (std::ranges::count(ranks, holder.rank) > 0) continue;
      const auto found = std::ranges::find_if(spare, [&](net::Rank rank) {
        return !profiles_.contains(holder.rank) ||
               (profiles_.contains(rank) && is_as_good(profiles_.at(rank), profiles_.at(holder.rank)));
      });
      if (found == spare.end()) return false;
      reports().stage_moved(static_cast<std::size_t>(&stage - stages_.all().data()), holder.rank, *found);
      holder = {*found, holder.seconds, false};
      meter_.reset();
      replanner_.reset();
      spare.erase(found);
    }
  }
  return true;
}

Status PipelineLeader::cut(const net::RankSet& ranks) {
  MG_TRY(const std::vector<PlannedStage> stages, planned(ranks));
  const std::vector<PlacedStage> before = stages_.all();
  MG_RETURN_IF_ERROR(use(stages, ranks));
  if (iteration_ > 0) report_changes(before);
  return {};
}

Status PipelineLeader::use(const std::vector<PlannedStage>& stages, const net::RankSet& ranks) {
  MG_RETURN_IF_ERROR(stages_.place(stages));
  meter_.reset();
  replanner_.reset();
  planned_for_ = ranks;
  return {};
}

Result<std::vector<PlannedStage>> PipelineLeader::planned(const net::RankSet& ranks, bool must_fit) {
  const Graph& graph = Leader::global_model().graph();
  const std::size_t wanted = stages_wanted(ranks.size());
  std::vector<PlannedStage> stages;
  if (rule_.kind == CutRule::Kind::behind && wanted == rule_.nodes.size() + 1) {
    MG_TRY(const std::vector<StageRange> ranges, cut_behind(graph, rule_.nodes));
    for (const StageRange& range : ranges) stages.push_back({range, {{ranks[stages.size()]}}});
    return stages;
  }
  std::vector<StageDevice> devices;
  for (const net::Rank rank : ranks) {
    const auto measured = profiles_.find(rank);
    devices.push_back({rank, measured != profiles_.end() ? measured->second : computed_profile(graph, micro_batch_)});
  }
  MG_TRY(const Stage::Recompute recompute, parse_recompute(job().recompute()));
  const std::size_t most = devices_wanted(ranks.size());
  return plan_pipeline(graph, devices,
                       {.micro_batch = micro_batch_,
                        .devices = {.least = is_measured() && job().stages() == 0 ? 1 : most, .most = most},
                        .most_replicas = static_cast<std::size_t>(job().replicas()),
                        .recompute = recompute,
                        .schedule = planned_schedule(job(), micro_batch_, ranks.size(), optimizer_slots_),
                        .must_fit = must_fit});
}

void PipelineLeader::report_changes(const std::vector<PlacedStage>& before) {
  const std::vector<PlacedStage>& now = stages_.all();
  const auto is_same = [](const PlacedStage& a, const PlacedStage& b) {
    return a.range == b.range && a.holders.size() == b.holders.size();
  };
  if (!std::ranges::equal(before, now, is_same)) return reports().event(Recut{now.size(), step()});
  for (std::size_t s = 0; s < now.size(); ++s)
    for (std::size_t i = 0; i < now[s].holders.size(); ++i)
      if (const net::Rank was = before[s].holders[i].rank; was != now[s].holders[i].rank)
        reports().stage_moved(s, was, now[s].holders[i].rank);
}

/// Nobody where times do not matter, or there is no choice.
net::RankSet PipelineLeader::not_measured(const net::RankSet& ranks) const {
  net::RankSet unknown;
  for (const net::Rank rank : ranks)
    if (is_measured() && ranks.size() > 1 && !profiles_.contains(rank)) unknown.push_back(rank);
  return unknown;
}

/// What the operators take on these workers, all at once: so they will train. Who is lost meanwhile is not measured.
Status PipelineLeader::measure(const net::RankSet& ranks) {
  const Graph& graph = Leader::global_model().graph();
  Work work;
  work.set_kind(Work::PROFILE);
  work.set_parts(kProfiledParts);
  work.mutable_pipeline()->set_micro_batch(micro_batch_);
  asked_ = ranks;
  for (const net::Rank rank : ranks) workers().give(rank, work, std::string_view(), 0);
  while (!asked_.empty()) {
    MG_TRY(std::optional<WorkerRoster::Answered> answered, next_answer());
    if (!answered || std::erase(asked_, answered->rank) == 0) continue;
    StageProfile& profile = profiles_[answered->rank] = answered->answer.profile();
    if (is_profile_of(profile, graph)) continue;
    log_warn("the measured times do not fit the network", {{"rank", answered->rank}});
    profile = computed_profile(graph, micro_batch_);
  }
  return {};
}

/// Gives the work to all stages, and waits for their answers. False: one of them will not answer; its samples are given
/// back, and what the others have done is void.
Result<bool> PipelineLeader::pass(Work work) {
  work.set_version(step());
  ++iteration_;
  *work.mutable_pipeline() = stages_.message(iteration_, micro_batch_);
  is_broken_ = false;
  answers_.clear();
  asked_.clear();
  learn::Checkpoint whole;
  global_model().save(whole);
  for (PlacedStage& stage : stages_.all()) {
    for (StageHolder& holder : stage.holders) {
      asked_.push_back(holder.rank);
      work.set_state(!holder.has_state);
      const bool brings_state = work.kind() == Work::TRAIN && &holder == &stage.holders.front();
      workers().give(holder.rank, work, holder.has_state ? std::string() : PlacedStages::state_of(stage, whole),
                     brings_state ? stage.state_elements : 0);
      holder.has_state = work.kind() == Work::EVALUATE;  // of training, once all have come to its end
    }
  }
  while (answers_.size() < stages_.devices() && !is_broken_) {
    if (const auto rank = workers().stuck_on()) {
      workers().came_to_a_stand(*rank, make_error(Code::unavailable, "the other stages wait for its values in vain"));
      is_broken_ = true;
      break;
    }
    MG_TRY(std::optional<WorkerRoster::Answered> answered, next_answer());
    if (answered) answers_.emplace(answered->rank, std::move(*answered));
  }
  if (!is_broken_) return true;
  for (PlacedStage& stage : stages_.all()) {
    for (StageHolder& holder : stage.holders) {
      holder.has_state = false;
      workers().recall(holder.rank);
    }
  }
  if (Leader::work().holds(stages_.keeper())) Leader::work().give_back(stages_.keeper());
  return false;
}

void PipelineLeader::drop(const WorkerRoster::Dropped& dropped) {
  if (std::erase(asked_, dropped.rank) == 0) return;
  std::size_t samples = 0;
  if (!stages_.all().empty() && work().holds(stages_.keeper())) samples = work().give_back(stages_.keeper());
  reports().work_reassigned(dropped.rank, dropped.reason, samples, step());
  is_broken_ = true;
}

/// The answers' bodies become the global model's values.
Status PipelineLeader::keep_states() {
  learn::Checkpoint all;
  global_model().save(all);
  for (PlacedStage& stage : stages_.all()) {
    const std::string_view state = answers_.at(stage.holders.front().rank).body();
    MG_RETURN_IF_ERROR(PlacedStages::take_state(stage, state, all));
    for (StageHolder& holder : stage.holders) holder.has_state = true;
  }
  return global_model().restore(all);
}

/// The answer of the last stage's replicas together.
WorkerRoster::Answered PipelineLeader::last_answer() const {
  WorkerRoster::Answered all = answers_.at(stages_.keeper());
  for (const StageHolder& holder : std::span(stages_.all().back().holders).subspan(1)) {
    const Answer& other = answers_.at(holder.rank).answer;
    all.answer.set_loss(all.answer.loss() + other.loss());
    all.answer.set_correct(all.answer.correct() + other.correct());
    all.answer.mutable_truths()->MergeFrom(other.truths());
    all.answer.mutable_predictions()->MergeFrom(other.predictions());
    all.answer.mutable_losses()->MergeFrom(other.losses());
  }
  return all;
}

Status PipelineLeader::finish(std::int64_t steps, Seconds seconds) {
  workers().came_to_an_end();
  const WorkerRoster::Answered last = last_answer();
  MG_RETURN_IF_ERROR(count_in(std::span(&last, 1), steps));
  MG_RETURN_IF_ERROR(keep_states());
  std::vector<StageWork> done;
  std::vector<std::vector<Action>> actions;
  const Pipeline passed = stages_.message(iteration_, micro_batch_);
  const Schedule schedule = strategy_of(job()).pipeline->actions;
  const auto micro_batches = divide(last.answer.count(), static_cast<std::int64_t>(batch()), micro_batch_);
  for (const net::Rank rank : ranks_of(passed)) {
    done.push_back(answers_.at(rank).answer.stage());
    actions.push_back(own_actions(passed, *place_of(passed, rank), schedule, micro_batches, job().ahead()));
  }
  if (!meter_)
    meter_.emplace(stages_.described([&](net::Rank rank) { return reports().node(rank); },
                                     is_measured() && stages_.devices() > 1));
  meter_->add(done, seconds);
  reports().stages(meter_->report(actions));
  if (!is_measured() || done.size() < 2) return {};
  if (!replanner_) replanner_.emplace(Leader::global_model().graph(), micro_batch_, held(stages_.all()), revisions_);
  replanner_->add(done, last.answer.count(), seconds);
  return replanner_->is_due() ? revise() : Status();
}

/// Other stages from now on, where these do not take what was expected, and the others are worth their price.
Status PipelineLeader::revise() {
  net::RankSet ranks = workers().ready();
  std::erase_if(ranks, [&](net::Rank rank) { return !profiles_.contains(rank); });
  PipelineReplanner::Profiles profiles = replanner_->corrected(profiles_);
  for (const auto& [rank, profile] : profiles)
    if (!is_profile_of(profile, Leader::global_model().graph())) return {};
  std::swap(profiles_, profiles);
  const Result<std::vector<PlannedStage>> stages = planned(ranks, true);
  const double speedup = stages.ok() ? replanner_->speedup(profiles_, held(*stages)) : 1;
  if (!stages.ok() || !replanner_->pays(speedup, samples_left())) {
    std::swap(profiles_, profiles);
    return {};
  }
  MG_RETURN_IF_ERROR(use(*stages, ranks));
  ++revisions_;
  reports().event(Recut{stages->size(), step(), speedup});
  return {};
}

/// By iterations of the forward pass alone, of all samples, until one comes to its end.
Result<Evaluation> PipelineLeader::classify(const EvaluationTask& task) {
  Work work;
  work.set_kind(Work::EVALUATE);
  work.set_validation(task.validation);
  work.set_batch(task.batch);
  std::vector<std::uint32_t> order(static_cast<std::size_t>(task.samples));
  std::iota(order.begin(), order.end(), 0u);
  work.mutable_samples()->Add(order.begin(), order.end());
  Instant start;
  for (bool passed = false; !passed;) {
    MG_RETURN_IF_ERROR(settle());
    start = context().clock.now();
    MG_TRY(passed, pass(work));
  }
  const Seconds seconds = context().clock.now() - start;
  const Answer answer = last_answer().answer;
  Evaluation evaluation{learn::ConfusionMatrix(task.classes), 0};
  for (const double loss : answer.losses()) evaluation.loss += loss / static_cast<double>(task.samples);
  for (int i = 0; i < answer.truths_size(); ++i) evaluation.confusion.add(answer.truths(i), answer.predictions(i));
  reports().progress(task.validation ? "validate" : "test", task.samples, task.samples,
                     seconds > 0 ? static_cast<double>(task.samples) / seconds : 0);
  return evaluation;
}

}  // namespace

Status lead_pipeline(const TrainJob& job, job::RoleContext& context) {
  MG_TRY(Graph graph, parse_onnx(job.model()).context("model"));
  MG_TRY(const Hyperparameters recipe, hyperparameters_of(job));
  MG_TRY(CutRule rule, parse_cut(job.cut()));
  const auto nodes = static_cast<std::size_t>(context.endpoint.size()) - 1;
  MG_RETURN_IF_ERROR(check_stages(job, rule, graph, nodes));
  MG_RETURN_IF_ERROR(learn::check_single_exit(graph).context("strategy " + job.strategy()));
  MG_TRY(std::unique_ptr<GlobalModel> model, GlobalModel::create(std::move(graph), recipe));
  MG_TRY(const learn::OptimizerRow* optimizer, learn::find_optimizer(recipe.optimizer.name));
  return PipelineLeader(job, context, recipe, std::move(model), std::move(rule), optimizer->slots).run();
}

}  // namespace mangrove::train
