#include "mangrove/infer/pipeline/stream.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/pipeline/placement.h"
#include "mangrove/infer/pipeline/routes.h"
#include "mangrove/infer/pipeline/stage_load_log.h"
#include "mangrove/infer/pipeline/stream_wait.h"
#include "mangrove/plan/profile.h"

namespace mangrove::infer {
namespace {

class Stream {
 public:
  Stream(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports, StreamWork& work,
         StagePlan plan, Replanner& replanner, SpotChecks* checks)
      : job_(job),
        context_(context),
        nodes_(nodes),
        reports_(reports),
        work_(work),
        replanner_(replanner),
        checks_(checks),
        timeout_(job.answer_timeout_s()),
        wait_(context, nodes, reports, timeout_),
        micro_batch_(job.micro_batch()),
        window_(window(job, plan)),
        load_log_(reports) {
    use(std::move(plan));
  }

  Result<StreamResult> run();

 private:
  void use(StagePlan plan);
  Status place();
  bool revise();
  Status replace_lost(const net::RankSet& ranks);
  void send_placement(const net::RankSet& ranks);
  bool all_stages_held() const;
  void feed();
  void send(Command& command, const Routes::Route& route);
  void take(net::Rank from, Predictions predictions);
  void accept(const Predictions& predictions);
  void follow(std::uint64_t id, const SpotChecks::Step& step);
  void quarantine_liar();
  bool is_unclear() const { return checks_ != nullptr && checks_->is_unclear(); }
  bool isolate_devices();
  bool can_compare(const StagePlan& plan) const;
  void isolate(const net::RankSet& ranks, const char* why);
  bool valid(net::Rank from, const Predictions& predictions) const;
  void heard(net::Rank from, const Predictions& predictions, Instant now);
  void record(const Trace& trace);
  bool leave_out_mute();
  std::set<net::Rank> holders() const;

  const InferJob& job_;
  job::RoleContext& context_;
  NodeRoster& nodes_;
  Reports& reports_;
  StreamWork& work_;
  Replanner& replanner_;
  SpotChecks* const checks_;
  const Seconds timeout_;
  StreamWait wait_;
  const std::int64_t micro_batch_;
  std::size_t window_;
  std::uint64_t generation_ = 0;
  Routes routes_;
  Instant start_, planned_;
  Seconds placing_ = 0;  // the last time
  Instant last_answer_;  // or when there was nothing to be answered
  StageLoadLog load_log_;
  StreamResult result_;
};

/// What was counted of the stages of an older plan is forgotten.
void Stream::use(StagePlan plan) {
  result_.records.clear();
  result_.plan = std::move(plan);
}

Result<StreamResult> Stream::run() {
  MG_RETURN_IF_ERROR(place());
  start_ = planned_ = last_answer_ = context_.clock.now();
  work_.begin(start_);
  load_log_.begin(start_);
  while (!work_.is_done()) {
    if (!all_stages_held() || isolate_devices() || revise()) {
      MG_RETURN_IF_ERROR(place());
      work_.resend_all();
      last_answer_ = context_.clock.now();
    }
    // not all of them go out again: the deadline of some has passed
    for (const std::uint64_t id : work_.resend_overdue(context_.clock.now(), timeout_)) {
      routes_.overdue(id, context_.clock.now(), timeout_);
      if (checks_ != nullptr) follow(id, checks_->overdue(id));
    }
    if (leave_out_mute()) continue;
    feed();
    if (work_.is_done()) break;  // the rest had missed its deadline
    if (!work_.is_waiting()) last_answer_ = context_.clock.now();
    MG_TRY(std::optional<NodeRoster::Said> said, nodes_.next(context_.clock.after(timeout_)));
    if (said && said->message.has_predictions()) take(said->rank, std::move(*said->message.mutable_predictions()));
    MG_RETURN_IF_ERROR(wait_.check("no micro-batch was answered", holders(), last_answer_));
  }
  result_.seconds = context_.clock.now() - start_;
  result_.planned_seconds = context_.clock.now() - planned_;
  return std::move(result_);
}

/// Whether a replica takes micro-batches and answers none. Its stages are placed anew, without it.
bool Stream::leave_out_mute() {
  const std::optional<net::Rank> mute = routes_.mute();
  if (!mute) return false;
  nodes_.leave_out_idle(
      *mute, make_error(Code::unavailable, "no micro-batch has come back from it, " + std::to_string(Routes::kStrikes) +
                                               " times in a row within " + format_seconds(timeout_) +
                                               " (answer_timeout_s), while others of its stage answer"));
  return true;
}

/// The nodes that have stages.
std::set<net::Rank> Stream::holders() const {
  const std::vector<net::Rank> ranks = result_.plan.ranks();
  return {ranks.begin(), ranks.end()};
}

bool Stream::all_stages_held() const {
  return std::ranges::all_of(result_.plan.ranks(), [&](net::Rank rank) { return nodes_.is_usable(rank); });
}

/// Whether there is another plan now.
bool Stream::revise() {
  if (is_unclear()) return false;
  Replanner::Outlook outlook;
  if (const auto samples = work_.left())
    outlook.left = std::ceil(static_cast<double>(*samples) / static_cast<double>(micro_batch_));
  // what is in flight begins anew; all boards have the network already
  outlook.pause = placing_ + static_cast<double>(window_) * result_.plan.period;
  std::optional<StagePlan> better = replanner_.revise(result_.plan, nodes_.usable(), outlook);
  if (!better || !can_compare(*better)) return false;
  reports_.event(Revised{stage_places(*better, reports_)});
  use(std::move(*better));
  planned_ = context_.clock.now();
  return true;
}

/// Begins a generation: every stage on a usable node, and every such node knows it.
Status Stream::place() {
  const Instant start = context_.clock.now();
  for (bool ready = false; !ready;) {
    MG_TRY(const net::RankSet ranks, nodes_.wait_usable());
    MG_RETURN_IF_ERROR(replace_lost(ranks));
    if (!can_compare(result_.plan)) isolate(ranks, Isolated::kNothingToCompare);
    ++generation_;
    send_placement(ranks);
    MG_TRY(ready,
           wait_.until_ready(generation_, holders(), [this](const net::RankSet& some) { send_placement(some); }));
  }
  placing_ = context_.clock.now() - start;
  replanner_.begin(result_.plan);
  routes_.begin(result_.plan);
  if (checks_ != nullptr) checks_->begin(result_.plan.holders());
  window_ = window(job_, result_.plan);
  work_.set_window(window_);
  return {};
}

Status Stream::replace_lost(const net::RankSet& ranks) {
  if (all_stages_held()) return {};
  std::vector<StagePlan::Stage>& stages = result_.plan.stages;
  Placement before;
  for (const StagePlan::Stage& stage : stages)
    for (const StagePlan::Replica& replica : stage.replicas) before.push_back(replica.rank);
  const std::optional<Placement> after = with_spares(before, ranks);
  if (!after || !replanner_.has_room(result_.plan, *after)) {
    MG_TRY(StagePlan plan, replanner_.plan(ranks));
    reports_.event(Replanned{stage_places(plan, reports_)});
    use(std::move(plan));
    planned_ = context_.clock.now();
    return {};
  }
  auto successor = after->begin();
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (StagePlan::Replica& replica : stages[s].replicas) {
      const net::Rank next = *successor++;
      if (next == replica.rank) continue;
      reports_.stage_moved(s, replica.rank, next);
      replica.busy *= replanner_.ratio(stages[s].nodes, replica.rank, next);
      replica.rank = next;
    }
  }
  return {};
}

void Stream::send_placement(const net::RankSet& ranks) {
  Command command;
  command.set_kind(Command::PLACE);
  command.set_generation(generation_);
  for (const StagePlan::Stage& stage : result_.plan.stages) {
    StagePlace& place = *command.add_stages();
    place.set_first(static_cast<std::uint32_t>(command.order_size()));
    command.mutable_order()->Add(stage.nodes.begin(), stage.nodes.end());
    place.set_last(static_cast<std::uint32_t>(command.order_size()));
    for (const StagePlan::Replica& replica : stage.replicas) place.add_ranks(replica.rank);
  }
  for (const net::Rank rank : ranks) nodes_.send(rank, command);
}

void Stream::feed() {
  while (std::optional<Command> command = work_.next(context_.clock.now())) {
    const std::uint64_t id = command->micro_batch();
    const Routes::Route route = routes_.choose(id);
    send(*command, route);
    load_log_.sent(id, context_.clock.now());
    if (checks_ == nullptr) continue;
    if (const std::optional<Routes::Route> second = checks_->send(id, route)) {
      routes_.add(id, *second);
      send(*command, *second);
    }
  }
}

void Stream::send(Command& command, const Routes::Route& route) {
  command.set_generation(generation_);
  command.mutable_route()->Assign(route.begin(), route.end());
  nodes_.send(route.front(), command);
}

bool Stream::valid(net::Rank from, const Predictions& predictions) const {
  const auto is_number = [](double value) { return std::isfinite(value); };
  const auto is_size = [](std::int64_t bytes) { return bytes >= 0 && bytes < std::int64_t{1} << 40; };
  const Trace& trace = predictions.trace();
  if (!std::ranges::all_of(trace.seconds(), plan::is_measurement) || !std::ranges::all_of(trace.transit(), is_number) ||
      !std::ranges::all_of(trace.sent_bytes(), is_size) || !std::ranges::all_of(trace.resident(), is_size))
    return false;
  const std::vector<StagePlan::Stage>& stages = result_.plan.stages;
  const int count = static_cast<int>(stages.size());
  if (predictions.generation() != generation_) return false;
  if (predictions.missed())
    return std::ranges::any_of(stages, [&](const StagePlan::Stage& stage) { return stage.has(from); });
  if (trace.seconds_size() != count || trace.queued_size() != count || trace.ranks_size() != count ||
      trace.resident_size() != count)
    return false;
  if (trace.sent_bytes_size() != count - 1 || trace.transit_size() != count - 1) return false;
  return trace.ranks(count - 1) == from &&
         std::ranges::equal(stages, trace.ranks(),
                            [](const StagePlan::Stage& stage, net::Rank rank) { return stage.has(rank); });
}

/// Whoever has a part in an answer is not mute, whether the answer counts or not.
void Stream::heard(net::Rank from, const Predictions& predictions, Instant now) {
  last_answer_ = now;
  if (predictions.missed()) return routes_.dropped(predictions.micro_batch(), from);
  const Trace& trace = predictions.trace();
  routes_.answered(predictions.micro_batch(), {trace.ranks().begin(), trace.ranks().end()}, now);
}

void Stream::take(net::Rank from, Predictions predictions) {
  if (!valid(from, predictions)) return;
  const Instant now = context_.clock.now();
  const StreamWork::Taken taken = work_.look(predictions, now);
  if (taken == StreamWork::Taken::ignored) return;
  heard(from, predictions, now);
  if (taken == StreamWork::Taken::accepted && !predictions.missed()) record(predictions.trace());
  if (checks_ == nullptr || taken == StreamWork::Taken::repeated) return accept(predictions);
  const std::uint64_t id = predictions.micro_batch();
  follow(id, checks_->take(from, std::move(predictions)));
}

/// Does what the checks say of the micro-batch.
void Stream::follow(std::uint64_t id, const SpotChecks::Step& step) {
  if (step.ask) {
    Command command = work_.copy(id, context_.clock.now());
    routes_.add(id, *step.ask);
    send(command, *step.ask);
  }
  quarantine_liar();  // before the answer lets others be told that it holds back
  if (step.answer) accept(*step.answer);
}

void Stream::quarantine_liar() {
  const std::optional<net::Rank> liar = checks_->liar();
  if (!liar) return;
  Quarantined event{.node = reports_.node(*liar)};
  for (const std::uint64_t id : checks_->quarantine(*liar)) {
    const StreamWork::Redo redo = work_.redo(id);
    if (redo == StreamWork::Redo::again) ++event.redone;
    if (redo == StreamWork::Redo::too_late) ++event.in_doubt;
  }
  const SpotChecks::Record record = checks_->record(*liar);
  event.checks = record.checks;
  event.wrong = record.wrong;
  result_.redone += event.redone;
  result_.in_doubt += event.in_doubt;
  reports_.event(event);
  nodes_.leave_out(*liar, make_error(Code::data_loss, "its answers are wrong"));
}

/// Whether there is another plan now: the whole network on each device, since it is unclear which of several lies.
bool Stream::isolate_devices() {
  const bool are_isolated = result_.plan.stages.size() == 1 && result_.plan.ranks().size() == nodes_.usable().size();
  if (!is_unclear() || are_isolated) return false;
  isolate(nodes_.usable(), Isolated::kWrongAnswers);
  return true;
}

/// Whether spot checks, if there are any, can find a liar with this plan, or whatever the plan is.
bool Stream::can_compare(const StagePlan& plan) const {
  return checks_ == nullptr || nodes_.usable().size() < SpotChecks::kFewest || checks_->can_compare(plan.holders());
}

void Stream::isolate(const net::RankSet& ranks, const char* why) {
  use(replanner_.whole_on_each(ranks));
  planned_ = context_.clock.now();
  reports_.event(Isolated{why, stage_places(result_.plan, reports_)});
}

/// An answer that counts, unless the micro-batch had one already.
void Stream::accept(const Predictions& predictions) {
  const Instant now = context_.clock.now();
  const StreamWork::Taken taken = work_.take(predictions, now);
  if (taken == StreamWork::Taken::ignored) return;
  if (taken == StreamWork::Taken::repeated) ++result_.repeated;
  routes_.finish(predictions.micro_batch());
  if (taken != StreamWork::Taken::accepted || predictions.missed()) return load_log_.forget(predictions.micro_batch());
  load_log_.answered(predictions.micro_batch(), predictions.trace(), now);
  replanner_.add(predictions.trace(), now);
}

void Stream::record(const Trace& trace) {
  for (int at = 0; at < trace.ranks_size(); ++at) {
    StageRecord& stage = result_.records[{static_cast<std::size_t>(at), trace.ranks(at)}];
    ++stage.micro_batches;
    routes_.learn(static_cast<std::size_t>(at), trace.ranks(at), trace.seconds(at));
    stage.busy += trace.seconds(at);
    stage.resident = std::max(stage.resident, trace.resident(at));
    if (at < trace.sent_bytes_size()) stage.sent_bytes += trace.sent_bytes(at);
    stage.queued += trace.queued(at);
    stage.most_queued = std::max<std::int64_t>(stage.most_queued, trace.queued(at));
  }
}

}  // namespace

Result<StreamResult> stream_through(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports,
                                    StreamWork& work, StagePlan plan, Replanner& replanner, SpotChecks* checks) {
  return Stream(job, context, nodes, reports, work, std::move(plan), replanner, checks).run();
}

}  // namespace mangrove::infer
