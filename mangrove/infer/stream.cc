#include "mangrove/infer/stream.h"

#include <algorithm>
#include <optional>
#include <set>

#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/micro_batches.h"
#include "mangrove/infer/placement.h"

namespace mangrove::infer {
namespace {

constexpr Seconds kProgressInterval = 0.2;
constexpr double kPatience = 10;  // timeouts without any sign of life before the job fails

class Stream {
 public:
  Stream(const InferJob& job, net::RoleContext& context, Nodes& nodes, Reports& reports, const Hello& data,
         StagePlan plan, const Replan& replan)
      : context_(context),
        nodes_(nodes),
        reports_(reports),
        data_(data),
        replan_(replan),
        timeout_(answer_timeout(job)),
        micro_batches_(data.samples(), job.micro_batch(), window(job, plan)),
        first_sent_(micro_batches_.size()) {
    result_.predictions.assign(static_cast<std::size_t>(data.samples()), -1);
    result_.deliveries.assign(static_cast<std::size_t>(data.samples()), 0);
    use(std::move(plan));
  }

  Result<StreamResult> run();

 private:
  void use(StagePlan plan);
  Status place();
  Status replace_lost(const net::RankSet& ranks);
  /// False: a stage was lost meanwhile.
  Result<bool> wait_until_ready();
  void send_placement(const net::RankSet& ranks);
  bool all_stages_held() const;
  void feed();
  void take(const Predictions& predictions);
  bool valid(const Predictions& predictions) const;
  void record(const Trace& trace);
  Status check_patience(const char* what, Instant since) const;

  net::RoleContext& context_;
  Nodes& nodes_;
  Reports& reports_;
  const Hello& data_;
  const Replan& replan_;
  const Seconds timeout_;
  MicroBatches micro_batches_;
  std::vector<std::optional<Instant>> first_sent_;  // of each micro-batch
  std::uint64_t generation_ = 0;
  std::int64_t answered_ = 0;  // samples
  Instant start_, planned_, last_report_, last_answer_;
  StreamResult result_;
};

/// What was counted of the stages of an older plan is forgotten.
void Stream::use(StagePlan plan) {
  result_.stages.assign(plan.stages.size(), {});
  result_.micro_batches = 0;
  result_.plan = std::move(plan);
}

Result<StreamResult> Stream::run() {
  MG_RETURN_IF_ERROR(place());
  start_ = planned_ = last_report_ = last_answer_ = context_.clock.now();
  while (!micro_batches_.done()) {
    if (!all_stages_held()) {
      MG_RETURN_IF_ERROR(place());
      micro_batches_.resend_all();
      last_answer_ = context_.clock.now();
    }
    micro_batches_.resend_overdue(context_.clock.now(), timeout_);
    feed();
    MG_TRY(const std::optional<Nodes::Said> said, nodes_.next(context_.clock.after(timeout_)));
    if (said && said->message.has_predictions()) take(said->message.predictions());
    MG_RETURN_IF_ERROR(check_patience("no micro-batch was answered", last_answer_));
  }
  result_.seconds = context_.clock.now() - start_;
  result_.planned_seconds = context_.clock.now() - planned_;
  std::ranges::sort(result_.latencies);
  return std::move(result_);
}

Status Stream::check_patience(const char* what, Instant since) const {
  const Seconds waited = context_.clock.now() - since;
  if (waited <= kPatience * timeout_) return {};
  return make_error(Code::unavailable, std::string(what) + " for " + format_seconds(waited) + "; answer_timeout_s is " +
                                           format_seconds(timeout_));
}

bool Stream::all_stages_held() const {
  return std::ranges::all_of(result_.plan.stages,
                             [&](const StagePlan::Stage& stage) { return nodes_.is_usable(stage.rank); });
}

/// Begins a generation: every stage on a usable node, and every such node knows it.
Status Stream::place() {
  for (bool ready = false; !ready;) {
    MG_TRY(const net::RankSet ranks, nodes_.wait_usable());
    MG_RETURN_IF_ERROR(replace_lost(ranks));
    ++generation_;
    send_placement(ranks);
    MG_TRY(ready, wait_until_ready());
  }
  return {};
}

Status Stream::replace_lost(const net::RankSet& ranks) {
  if (all_stages_held()) return {};
  std::vector<StagePlan::Stage>& stages = result_.plan.stages;
  Placement before;
  for (const StagePlan::Stage& stage : stages) before.push_back(stage.rank);
  const std::optional<Placement> after = with_spares(before, ranks);
  if (!after) {
    MG_TRY(StagePlan plan, replan_(ranks));
    reports_.replanned(plan);
    use(std::move(plan));
    planned_ = context_.clock.now();
    return {};
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if ((*after)[s] == before[s]) continue;
    reports_.stage_moved(s, before[s], (*after)[s]);
    stages[s].rank = (*after)[s];
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
    place.set_rank(stage.rank);
  }
  for (const net::Rank rank : ranks) nodes_.send(rank, command);
}

Result<bool> Stream::wait_until_ready() {
  std::set<net::Rank> missing;
  for (const StagePlan::Stage& stage : result_.plan.stages) missing.insert(stage.rank);
  const Instant start = context_.clock.now();
  Instant sent = start;
  while (!missing.empty()) {
    MG_TRY(const std::optional<Nodes::Said> said, nodes_.next(sent + timeout_));
    if (!all_stages_held()) return false;
    if (said && said->message.has_ready() && said->message.ready().generation() == generation_)
      missing.erase(said->rank);
    if (context_.clock.now() - sent >= timeout_) {  // the command or its answer may have been lost
      sent = context_.clock.now();
      send_placement({missing.begin(), missing.end()});
    }
    MG_RETURN_IF_ERROR(check_patience("a stage was not ready", start));
  }
  return true;
}

void Stream::feed() {
  while (const auto part = micro_batches_.send_next(context_.clock.now())) {
    std::optional<Instant>& first = first_sent_[part->id];
    if (!first) first = context_.clock.now();
    Command command;
    command.set_kind(Command::FEED);
    command.set_generation(generation_);
    command.set_micro_batch(part->id);
    command.set_begin(part->begin);
    command.set_count(part->count);
    nodes_.send(result_.plan.stages.front().rank, command);
  }
}

bool Stream::valid(const Predictions& predictions) const {
  const auto is_class = [&](std::int32_t c) { return c >= 0 && c < data_.classes_size(); };
  const auto stages = static_cast<int>(result_.plan.stages.size());
  return predictions.generation() == generation_ && micro_batches_.exists(predictions.micro_batch()) &&
         predictions.classes_size() == micro_batches_.part(predictions.micro_batch()).count &&
         std::all_of(predictions.classes().begin(), predictions.classes().end(), is_class) &&
         predictions.trace().seconds_size() == stages && predictions.trace().queued_size() == stages &&
         predictions.trace().sent_bytes_size() == stages - 1;
}

void Stream::take(const Predictions& predictions) {
  if (!valid(predictions)) return;
  last_answer_ = context_.clock.now();
  if (!micro_batches_.answer(predictions.micro_batch())) {
    ++result_.repeated;
    return;
  }
  const MicroBatches::Part part = micro_batches_.part(predictions.micro_batch());
  for (std::int64_t i = 0; i < part.count; ++i) {
    const auto sample = static_cast<std::size_t>(part.begin + i);
    result_.predictions[sample] = predictions.classes(static_cast<int>(i));
    ++result_.deliveries[sample];
  }
  answered_ += part.count;
  result_.latencies.push_back(last_answer_ - first_sent_[part.id].value_or(last_answer_));
  record(predictions.trace());
  if (micro_batches_.done() || last_answer_ - last_report_ >= kProgressInterval) {
    reports_.progress("pipeline", answered_, data_.samples(), last_answer_ - start_);
    last_report_ = last_answer_;
  }
}

void Stream::record(const Trace& trace) {
  ++result_.micro_batches;
  for (std::size_t s = 0; s < result_.stages.size(); ++s) {
    StageRecord& stage = result_.stages[s];
    const int at = static_cast<int>(s);
    stage.busy += trace.seconds(at);
    if (at < trace.sent_bytes_size()) stage.sent_bytes += trace.sent_bytes(at);
    stage.queued += trace.queued(at);
    stage.most_queued = std::max<std::int64_t>(stage.most_queued, trace.queued(at));
  }
}

}  // namespace

Result<StreamResult> stream_through(const InferJob& job, net::RoleContext& context, Nodes& nodes, Reports& reports,
                                    const Hello& data, StagePlan plan, const Replan& replan) {
  return Stream(job, context, nodes, reports, data, std::move(plan), replan).run();
}

}  // namespace mangrove::infer
