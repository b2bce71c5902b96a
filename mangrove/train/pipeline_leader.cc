#include "mangrove/train/pipeline_leader.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "mangrove/base/log.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/payload.h"
#include "mangrove/train/leader.h"
#include "mangrove/train/pipeline_cut.h"
#include "mangrove/train/pipeline_meter.h"
#include "mangrove/train/pipeline_settings.h"
#include "mangrove/train/stage_passage.h"

namespace mangrove::train {
namespace {

constexpr int kMostStuck = 2;  // passages in a row that come to a stand, before a worker is left out

class PipelineLeader final : public Leader {
 public:
  PipelineLeader(const TrainJob& job, net::RoleContext& context, const Recipe& recipe, std::unique_ptr<Master> master,
                 Schedule schedule, CutRule rule, std::size_t optimizer_slots)
      : Leader(job, context, recipe, std::move(master)),
        schedule_(schedule),
        rule_(std::move(rule)),
        optimizer_slots_(optimizer_slots),
        most_stages_(most_stages(Leader::master().graph())) {}

 private:
  /// A stage, the worker that has it, and where its values are among those of the whole network.
  struct Placed {
    StageRange range;
    net::Rank rank = 0;
    StageSizes sizes;
    std::size_t parameters_begin = 0, states_begin = 0;
    std::size_t state_elements = 0;  // see Stage
    bool has_state = false;          // the worker, of this version
  };

  Status advance() override;
  Result<Evaluation> classify(const EvaluationTask& task) override;
  void drop(const Workers::Dropped& dropped) override;
  std::int64_t samples_per_step(std::size_t) const override { return static_cast<std::int64_t>(batch()); }
  std::size_t workers_in_step(std::size_t) const override { return 1; }
  bool can_be_advised() const override { return false; }

  Status settle();
  std::size_t stages_wanted(std::size_t workers) const;
  Status cut(const net::RankSet& ranks);
  Status place(const std::vector<StageRange>& ranges, const net::RankSet& ranks);
  bool replace_missing(const net::RankSet& ranks);
  Result<bool> measure(const net::RankSet& ranks);
  Result<bool> pass(Work work);
  void unblock(net::Rank rank);
  std::string state_of(const Placed& stage);
  Status keep_states();
  Status finish(std::int64_t steps, Seconds seconds);
  std::vector<Reports::Stage> described();

  const Schedule schedule_;
  const CutRule rule_;
  const std::size_t optimizer_slots_;
  const std::size_t most_stages_;
  std::int64_t micro_batch_ = 0;  // settled with the first stages
  std::vector<double> costs_;     // seconds of each operator; empty: not yet known
  std::vector<Placed> stages_;
  std::uint64_t passage_ = 0;                       // number of the last one
  bool is_broken_ = false;                          // it: a stage will not come to its end
  std::map<net::Rank, Workers::Answered> answers_;  // of it
  int stuck_ = 0;                                   // passages in a row that came to a stand
  std::optional<PipelineMeter> meter_;              // of these stages
};

/// A passage of some mini-batches: all stages come to its end, and have a version in common; or it did not happen.
Status PipelineLeader::advance() {
  MG_RETURN_IF_ERROR(settle());
  const net::Rank holder = stages_.back().rank;
  const std::size_t count = static_cast<std::size_t>(local_steps(job())) * batch();
  Work work = assign({holder}, count).at(holder);
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
    const std::size_t wanted = stages_wanted(ranks.size());
    if (stages_.size() == wanted && replace_missing(ranks)) return {};
    if (micro_batch_ == 0) micro_batch_ = pipeline_micro_batch(job(), wanted);
    if (costs_.empty() && wanted > 1 && rule_.kind == CutRule::Kind::measured) {
      MG_TRY(const bool measured, measure(ranks));
      if (!measured) continue;
    }
    return cut(ranks);
  }
}

std::size_t PipelineLeader::stages_wanted(std::size_t workers) const {
  std::size_t wanted = job().stages() > 0 ? static_cast<std::size_t>(job().stages()) : most_stages_;
  if (rule_.kind == CutRule::Kind::behind) wanted = rule_.nodes.size() + 1;
  return std::min({wanted, workers, most_stages_});
}

/// By another worker each. False: there are not enough.
bool PipelineLeader::replace_missing(const net::RankSet& ranks) {
  std::set<net::Rank> spare(ranks.begin(), ranks.end());
  for (const Placed& stage : stages_) spare.erase(stage.rank);
  for (Placed& stage : stages_) {
    if (std::find(ranks.begin(), ranks.end(), stage.rank) != ranks.end()) continue;
    if (spare.empty()) return false;
    reports().stage_moved(static_cast<std::size_t>(&stage - stages_.data()), stage.rank, *spare.begin());
    stage.rank = *spare.begin();
    stage.has_state = false;
    meter_.reset();
    spare.erase(spare.begin());
  }
  return true;
}

Status PipelineLeader::cut(const net::RankSet& ranks) {
  const Graph& graph = master().graph();
  const std::size_t wanted = stages_wanted(ranks.size());
  if (passage_ > 0 && !stages_.empty() && stages_.size() != wanted) reports().recut(wanted, step());
  if (rule_.kind == CutRule::Kind::behind && wanted == rule_.nodes.size() + 1) {
    MG_TRY(const std::vector<StageRange> ranges, cut_behind(graph, rule_.nodes));
    return place(ranges, ranks);
  }
  const std::vector<double> costs = costs_.empty() ? computed_costs(graph, micro_batch_) : costs_;
  MG_TRY(const std::vector<StageRange> ranges, cut_by_cost(graph, wanted, costs, micro_batch_));
  return place(ranges, ranks);
}

Status PipelineLeader::place(const std::vector<StageRange>& ranges, const net::RankSet& ranks) {
  stages_.clear();
  Placed next;
  for (const StageRange& range : ranges) {
    next.range = range;
    next.rank = ranks[stages_.size()];
    MG_TRY(next.sizes, stage_sizes(master().graph(), range));
    next.state_elements = next.sizes.parameters * (1 + optimizer_slots_) + next.sizes.states;
    stages_.push_back(next);
    next.parameters_begin += next.sizes.parameters;
    next.states_begin += next.sizes.states;
  }
  meter_.reset();
  return {};
}

/// How long the operators take: each worker measures a part of them, so that it needs no more memory than for its
/// stage. False: a worker was lost.
Result<bool> PipelineLeader::measure(const net::RankSet& ranks) {
  const Graph& graph = master().graph();
  costs_ = computed_costs(graph, micro_batch_);
  MG_TRY(const std::vector<StageRange> ranges, cut_by_cost(graph, stages_wanted(ranks.size()), costs_, micro_batch_));
  MG_RETURN_IF_ERROR(place(ranges, ranks));
  Work work;
  work.set_kind(Work::PROFILE);
  MG_TRY(const bool passed, pass(std::move(work)));
  std::vector<double> measured;
  for (const Placed& stage : stages_) {
    const auto found = answers_.find(stage.rank);
    if (found == answers_.end()) break;
    const auto& seconds = found->second.answer.operator_s();
    measured.insert(measured.end(), seconds.begin(), seconds.end());
  }
  const auto is_time = [](double seconds) { return std::isfinite(seconds) && seconds >= 0; };
  const bool is_whole = measured.size() == costs_.size() && std::all_of(measured.begin(), measured.end(), is_time);
  if (passed && !is_whole) log_warn("the measured times do not fit the network", {{"operators", measured.size()}});
  if (is_whole) costs_ = std::move(measured);
  if (!passed) costs_.clear();
  return passed;
}

/// Gives the work to all stages, and waits for their answers. False: one of them will not answer; its samples are given
/// back, and what the others have done is void.
Result<bool> PipelineLeader::pass(Work work) {
  work.set_version(step());
  Pipeline& pipeline = *work.mutable_pipeline();
  pipeline.set_id(++passage_);
  pipeline.set_micro_batch(micro_batch_);
  for (const Placed& stage : stages_) {
    PipelineStage& told = *pipeline.add_stages();
    told.set_first(static_cast<std::uint32_t>(stage.range.first));
    told.set_last(static_cast<std::uint32_t>(stage.range.last));
    told.set_rank(stage.rank);
  }
  is_broken_ = false;
  answers_.clear();
  for (Placed& stage : stages_) {
    const bool needs_state = work.kind() != Work::PROFILE && !stage.has_state;
    work.set_state(needs_state);
    workers().give(stage.rank, work, needs_state ? state_of(stage) : std::string(),
                   work.kind() == Work::TRAIN ? stage.state_elements : 0);
    stage.has_state = work.kind() == Work::EVALUATE;  // of training, once all have come to its end
  }
  while (answers_.size() < stages_.size() && !is_broken_) {
    if (const auto rank = workers().stuck_on()) {
      unblock(*rank);
      is_broken_ = true;
      break;
    }
    MG_TRY(std::optional<Workers::Answered> answered, next_answer());
    if (answered) answers_.emplace(answered->rank, std::move(*answered));
  }
  if (!is_broken_) return true;
  for (Placed& stage : stages_) {
    stage.has_state = false;
    workers().recall(stage.rank);
  }
  if (const net::Rank holder = stages_.back().rank; Leader::work().holds(holder)) Leader::work().give_back(holder);
  return false;
}

/// A message was lost, or a link is broken while both ends are well.
void PipelineLeader::unblock(net::Rank rank) {
  if (++stuck_ < kMostStuck) return;
  stuck_ = 0;
  workers().leave_out(rank, make_error(Code::unavailable, reports().node(rank) + ": the other stages wait for its "
                                                                                 "values in vain"));
}

void PipelineLeader::drop(const Workers::Dropped& dropped) {
  const auto has = [&](const Placed& stage) { return stage.rank == dropped.rank; };
  if (std::none_of(stages_.begin(), stages_.end(), has)) return;
  const net::Rank holder = stages_.back().rank;
  const std::size_t samples = work().holds(holder) ? work().give_back(holder) : 0;
  reports().work_reassigned(dropped.rank, dropped.reason, samples, step());
  is_broken_ = true;
}

/// As Stage::write_state wants it.
std::string PipelineLeader::state_of(const Placed& stage) {
  learn::Checkpoint all;
  master().save(all);
  const auto part = [](const std::vector<float>& flat, std::size_t begin, std::size_t count) {
    return std::span<const float>(flat).subspan(begin, count);
  };
  std::string state;
  net::append_floats(state, part(all.parameters, stage.parameters_begin, stage.sizes.parameters));
  net::append_floats(state, part(all.states, stage.states_begin, stage.sizes.states));
  for (const auto& slot : all.slots)
    net::append_floats(state, part(slot, stage.parameters_begin, stage.sizes.parameters));
  return state;
}

/// The answers' bodies become the master's values.
Status PipelineLeader::keep_states() {
  learn::Checkpoint all;
  master().save(all);
  for (Placed& stage : stages_) {
    std::string_view body = answers_.at(stage.rank).body();
    const auto take = [&](std::vector<float>& flat, std::size_t begin, std::size_t count) {
      const std::string_view bytes = body.substr(0, count * sizeof(float));
      body.remove_prefix(bytes.size());
      return net::read_floats(bytes, std::span(flat).subspan(begin, count));
    };
    MG_RETURN_IF_ERROR(take(all.parameters, stage.parameters_begin, stage.sizes.parameters));
    MG_RETURN_IF_ERROR(take(all.states, stage.states_begin, stage.sizes.states));
    for (auto& slot : all.slots) MG_RETURN_IF_ERROR(take(slot, stage.parameters_begin, stage.sizes.parameters));
    stage.has_state = true;
  }
  return master().restore(all);
}

Status PipelineLeader::finish(std::int64_t steps, Seconds seconds) {
  stuck_ = 0;
  MG_RETURN_IF_ERROR(count_in(std::span(&answers_.at(stages_.back().rank), 1), steps));
  MG_RETURN_IF_ERROR(keep_states());
  std::vector<StageWork> done;
  std::vector<std::vector<Action>> schedules;
  const auto micro_batches =
      divide(answers_.at(stages_.back().rank).answer.count(), static_cast<std::int64_t>(batch()), micro_batch_);
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    done.push_back(answers_.at(stages_[s].rank).answer.stage());
    schedules.push_back(schedule_(s, stages_.size(), micro_batches, job().ahead()));
  }
  if (!meter_) meter_.emplace(described());
  meter_->add(done, seconds);
  reports().stages(meter_->report(schedules));
  return {};
}

std::vector<Reports::Stage> PipelineLeader::described() {
  std::vector<Reports::Stage> stages;
  for (const Placed& stage : stages_) {
    stages.push_back({.node = reports().node(stage.rank), .operators = {}, .parameters = stage.sizes.parameters});
    for (std::size_t i = stage.range.first; i < stage.range.last; ++i)
      stages.back().operators.push_back(master().graph().nodes()[i].name);
  }
  return stages;
}

/// By passages of the forward pass alone, of all samples, until one comes to its end.
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
  const Answer& answer = answers_.at(stages_.back().rank).answer;
  Evaluation evaluation{learn::ConfusionMatrix(task.classes), 0};
  for (const double loss : answer.losses()) evaluation.loss += loss / static_cast<double>(task.samples);
  for (int i = 0; i < answer.truths_size(); ++i) evaluation.confusion.add(answer.truths(i), answer.predictions(i));
  reports().evaluate_progress(task.samples, task.samples,
                              seconds > 0 ? static_cast<double>(task.samples) / seconds : 0);
  return evaluation;
}

Status check_stages(const TrainJob& job, const CutRule& rule, const Graph& graph, std::size_t nodes) {
  const std::size_t most = most_stages(graph);
  std::size_t wanted = static_cast<std::size_t>(job.stages());
  if (rule.kind == CutRule::Kind::behind) {
    MG_RETURN_IF_ERROR(cut_behind(graph, rule.nodes));
    if (wanted > 0 && wanted != rule.nodes.size() + 1)
      return make_error(Code::invalid_argument, "stages: cut names " + std::to_string(rule.nodes.size()) +
                                                    " nodes, which makes " + std::to_string(rule.nodes.size() + 1) +
                                                    " stages, got " + std::to_string(wanted));
    wanted = rule.nodes.size() + 1;
  }
  const std::string stages = "stages: " + std::to_string(wanted) + " stages ";
  if (wanted > most)
    return make_error(Code::invalid_argument,
                      stages + "cannot be cut from graph '" + graph.name() + "', at most " + std::to_string(most));
  if (wanted > nodes)
    return make_error(Code::invalid_argument, stages + "need as many nodes, got " + std::to_string(nodes));
  return {};
}

}  // namespace

Status lead_pipeline(const TrainJob& job, net::RoleContext& context, Schedule schedule) {
  MG_TRY(Graph graph, parse_onnx(job.model()).context("model"));
  MG_TRY(const Recipe recipe, recipe_of(job));
  MG_TRY(CutRule rule, parse_cut(job.cut()));
  const auto nodes = static_cast<std::size_t>(context.endpoint.size()) - 1;
  MG_RETURN_IF_ERROR(check_stages(job, rule, graph, nodes));
  MG_RETURN_IF_ERROR(learn::check_single_exit(graph).context("strategy " + job.strategy()));
  MG_TRY(std::unique_ptr<Master> master, Master::create(std::move(graph), recipe));
  MG_TRY(const learn::OptimizerRow* optimizer, learn::find_optimizer(recipe.optimizer.name));
  return PipelineLeader(job, context, recipe, std::move(master), schedule, std::move(rule), optimizer->slots).run();
}

}  // namespace mangrove::train
