#include "mangrove/infer/stream.h"

#include <algorithm>
#include <set>

#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/micro_batches.h"

namespace mangrove::infer {
namespace {

constexpr Seconds kProgressInterval = 0.2;
constexpr double kPatience = 10;  // timeouts without any sign of life before the job fails

class Stream {
 public:
  Stream(const InferJob& job, net::RoleContext& context, Nodes& nodes, Reports& reports, const Hello& data,
         const StagePlan& plan, const Placement& placement)
      : context_(context),
        nodes_(nodes),
        reports_(reports),
        data_(data),
        plan_(plan),
        timeout_(answer_timeout(job)),
        micro_batches_(data.samples(), job.micro_batch(), window(job)) {
    result_.predictions.assign(static_cast<std::size_t>(data.samples()), -1);
    result_.deliveries.assign(static_cast<std::size_t>(data.samples()), 0);
    result_.placement = placement;
    result_.stage_seconds.assign(plan.stages.size(), 0);
    result_.stage_sent.assign(plan.stages.size(), 0);
  }

  Result<StreamResult> run();

 private:
  Status place();
  /// False: a stage was lost meanwhile.
  Result<bool> wait_until_ready();
  void send_placement(const net::RankSet& ranks);
  bool all_stages_held() const;
  void feed();
  void take(const Predictions& predictions);
  bool valid(const Predictions& predictions) const;
  Status check_patience(const char* what, Instant since) const;

  net::RoleContext& context_;
  Nodes& nodes_;
  Reports& reports_;
  const Hello& data_;
  const StagePlan& plan_;
  const Seconds timeout_;
  MicroBatches micro_batches_;
  std::uint64_t generation_ = 0;
  std::int64_t answered_ = 0;  // samples
  Instant start_, last_report_, last_answer_;
  StreamResult result_;
};

Result<StreamResult> Stream::run() {
  MG_RETURN_IF_ERROR(place());
  start_ = last_report_ = last_answer_ = context_.clock.now();
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
  return std::move(result_);
}

Status Stream::check_patience(const char* what, Instant since) const {
  const Seconds waited = context_.clock.now() - since;
  if (waited <= kPatience * timeout_) return {};
  return make_error(Code::unavailable, std::string(what) + " for " + format_seconds(waited) + "; answer_timeout_s is " +
                                           format_seconds(timeout_));
}

bool Stream::all_stages_held() const {
  return std::all_of(result_.placement.begin(), result_.placement.end(),
                     [&](net::Rank rank) { return nodes_.is_usable(rank); });
}

/// Begins a generation: every stage on a usable node, and every such node knows it.
Status Stream::place() {
  for (bool ready = false; !ready;) {
    MG_TRY(const net::RankSet ranks, nodes_.wait_usable());
    const Placement before = result_.placement;
    result_.placement = replace_lost(before, ranks);
    for (std::size_t s = 0; s < before.size(); ++s) {
      if (before[s] != result_.placement[s]) reports_.stage_moved(s, before[s], result_.placement[s]);
    }
    ++generation_;
    send_placement(ranks);
    MG_TRY(ready, wait_until_ready());
  }
  return {};
}

void Stream::send_placement(const net::RankSet& ranks) {
  Command command;
  command.set_kind(Command::PLACE);
  command.set_generation(generation_);
  for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
    StagePlace& place = *command.add_stages();
    place.set_first(static_cast<std::uint32_t>(plan_.stages[s].first));
    place.set_last(static_cast<std::uint32_t>(plan_.stages[s].last));
    place.set_rank(result_.placement[s]);
  }
  for (const net::Rank rank : ranks) nodes_.send(rank, command);
}

Result<bool> Stream::wait_until_ready() {
  std::set<net::Rank> missing(result_.placement.begin(), result_.placement.end());
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
    Command command;
    command.set_kind(Command::FEED);
    command.set_generation(generation_);
    command.set_micro_batch(part->id);
    command.set_begin(part->begin);
    command.set_count(part->count);
    nodes_.send(result_.placement.front(), command);
  }
}

bool Stream::valid(const Predictions& predictions) const {
  const auto is_class = [&](std::int32_t c) { return c >= 0 && c < data_.classes_size(); };
  const auto stages = static_cast<int>(plan_.stages.size());
  return predictions.generation() == generation_ && micro_batches_.exists(predictions.micro_batch()) &&
         predictions.classes_size() == micro_batches_.part(predictions.micro_batch()).count &&
         std::all_of(predictions.classes().begin(), predictions.classes().end(), is_class) &&
         predictions.trace().seconds_size() == stages && predictions.trace().sent_bytes_size() == stages - 1;
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
  for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
    result_.stage_seconds[s] += predictions.trace().seconds(static_cast<int>(s));
    if (s + 1 < plan_.stages.size()) result_.stage_sent[s] += predictions.trace().sent_bytes(static_cast<int>(s));
  }
  if (micro_batches_.done() || last_answer_ - last_report_ >= kProgressInterval) {
    reports_.progress("pipeline", answered_, data_.samples(), last_answer_ - start_);
    last_report_ = last_answer_;
  }
}

}  // namespace

Result<StreamResult> stream_through(const InferJob& job, net::RoleContext& context, Nodes& nodes, Reports& reports,
                                    const Hello& data, const StagePlan& plan, const Placement& placement) {
  return Stream(job, context, nodes, reports, data, plan, placement).run();
}

}  // namespace mangrove::infer
