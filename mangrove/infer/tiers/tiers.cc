#include "mangrove/infer/tiers/tiers.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/leader.h"
#include "mangrove/infer/rows.h"
#include "mangrove/infer/tiers/answers.h"
#include "mangrove/infer/tiers/bottom_models.h"
#include "mangrove/infer/tiers/checks.h"
#include "mangrove/infer/tiers/dispatch.h"
#include "mangrove/infer/tiers/exits.h"
#include "mangrove/infer/tiers/measurements.h"
#include "mangrove/infer/tiers/worker.h"

namespace mangrove::infer {
namespace {

constexpr double kPatience = 10;  // timeouts without an answer before the job fails

/// From the first task to the last answer.
class TierRun {
 public:
  TierRun(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports,
          BottomModels& bottom_models, const TierExits& exits, const Hello& data,
          const std::map<net::Rank, std::size_t>& tiers, const std::vector<TierDispatch::Device>& devices,
          const TierDispatch::Options& options)
      : job_(job),
        context_(context),
        nodes_(nodes),
        reports_(reports),
        bottom_models_(bottom_models),
        exits_(exits),
        data_(data),
        tiers_(tiers),
        timeout_(options.timeout),
        answers_(job, data, exits),
        deferred_(exits),
        dispatch_(answers_.batches(), devices, options),
        scheduler_(options.scheduler) {}

  Status run() {
    start_ = last_answer_ = context_.clock.now();
    while (true) {
      MG_RETURN_IF_ERROR(switch_scheduler());
      for (const auto& [rank, part] : tiers_)
        if (!nodes_.is_usable(rank)) dispatch_.lose(rank);
      for (const TierDispatch::Order& order : dispatch_.next(context_.clock.now())) MG_RETURN_IF_ERROR(follow(order));
      deferred_.drop_if([&](const TierTask& task) { return dispatch_.is_lost(task); });
      if (dispatch_.done()) break;
      const Instant listened = context_.clock.now();
      MG_RETURN_IF_ERROR(send_private());
      unheard_ = context_.clock.now() - listened;
      MG_TRY(std::vector<NodeRoster::Said> all, nodes_.all(private_.empty() ? Instant::never() : Instant()));
      for (NodeRoster::Said& said : all)
        if (said.message.has_tier_answer()) take(said.rank, std::move(*said.message.mutable_tier_answer()));
      const Seconds silent = context_.clock.now() - last_answer_;
      if (silent > kPatience * timeout_ + slowest_)
        return make_error(Code::unavailable, "tiers: no task was answered for " + format_seconds(silent) +
                                                 "; answer_timeout_s is " + format_seconds(timeout_));
    }
    seconds_ = last_answer_ - start_;
    return {};
  }

  TiersResult result(Seconds predicted) const;

 private:
  /// To those that users have asked for since the last time, if they are others.
  Status switch_scheduler() {
    while (true) {
      const Result<net::Message> wanted = context_.endpoint.recv({0}, job::kControlTag, context_.clock.now());
      if (!wanted.ok()) return {};
      if (wanted->payload == scheduler_->name) continue;
      MG_TRY(const Scheduler* const next, find_scheduler(wanted->payload));
      dispatch_.switch_to(*next);
      reports_.event(
          SchedulerSwitched{std::string(scheduler_->name), std::string(next->name), context_.clock.now() - start_});
      scheduler_ = next;
    }
  }

  /// A task that needs a bottom model's values waits for its turn: nobody listens to the devices while they are
  /// computed.
  Status follow(const TierDispatch::Order& order) {
    if (order.kind == TierDispatch::Order::Kind::run) {
      if (!bottom_models_.has(tiers_.at(order.rank))) return send(order);
      private_.push_back(order);
      return {};
    }
    Command command;
    command.set_kind(Command::DROP);
    command.set_micro_batch(order.task.batch);
    command.set_answer(static_cast<std::uint32_t>(order.task.answer));
    nodes_.send(order.rank, command);
    return {};
  }

  /// The first one that is still wanted.
  Status send_private() {
    while (!private_.empty()) {
      const TierDispatch::Order order = private_.front();
      private_.pop_front();
      if (dispatch_.is_wanted(order.rank, order.task)) return send(order);
    }
    return {};
  }

  Status send(const TierDispatch::Order& order) {
    first_sent_.try_emplace(order.task, context_.clock.now());
    MG_TRY(Command command, task_command(job_, bottom_models_, data_, order.task, tiers_.at(order.rank)));
    if (exits_.any() && order.task.answer != Answer::first) deferred_.give(command);
    const Instant now = context_.clock.now();
    nodes_.send(order.rank, command);
    dispatch_.sent(order.rank, order.task, now);
    const auto [sent, is_new] = sent_.try_emplace({order.rank, order.task}, now);
    if (!is_new) sent->second = Instant::never();  // nobody knows which of the two an answer is to
    return {};
  }

  /// A device that has not seen the samples does not know what they are.
  void add_truths(TierAnswer& said, bool has_bottom) const {
    said.clear_truths();
    if (!answers_.knows(said)) return;
    for (const std::int64_t image : answers_.images_of({static_cast<Answer>(said.answer()), said.micro_batch()}))
      said.add_truths(has_bottom ? bottom_models_.label(image) : answers_.truth(image));
  }

  /// What a device passes on goes up a level; what it was given is needed no more.
  void pass_on(const TierTask& task, TierAnswer& said) {
    deferred_.drop(task);
    if (said.values().empty()) return;
    const TierTask next{TierExits::behind(task.answer), task.batch};
    deferred_.keep(next, std::move(*said.mutable_values()));
    dispatch_.want(next);
  }

  void take(net::Rank rank, TierAnswer said) {
    const auto tier = tiers_.find(rank);
    if (tier == tiers_.end() || said.request() != 0) return;
    if (!sees_samples(job_, tier->second, static_cast<Answer>(said.answer())))
      add_truths(said, bottom_models_.has(tier->second));
    if (!answers_.fits(said, tier->second)) return;
    const TierTask task{static_cast<Answer>(said.answer()), said.micro_batch()};
    const auto sent = sent_.find({rank, task});
    const Seconds took = said.seconds() + said.waited();
    if (sent == sent_.end() || !std::isfinite(took) || said.seconds() < 0) return;
    const Instant now = context_.clock.now();
    const bool is_known = sent->second < Instant::never();
    const Seconds on_way =
        is_known ? std::max(0.0, now - sent->second - took) : std::numeric_limits<Seconds>::quiet_NaN();
    if (!dispatch_.answer(rank, task, said.seconds(), on_way, now, unheard_)) return;
    last_answer_ = now;
    if (is_known) slowest_ = std::max(slowest_, now - sent->second);
    TierAnswersLine line = answers_.add(task, said, tier->second, now - first_sent_.at(task));
    if (exits_.any()) pass_on(task, said);
    line.node = reports_.node(rank);
    line.at = now - start_;
    if (context_.device.computes()) reports_.line(line);
    report();
  }

  void report() {
    const std::size_t done = dispatch_.counts().answered;
    if (!throttle_.passes(last_answer_, done >= dispatch_.asked())) return;
    const auto images = static_cast<double>(data_.samples());
    const double share = static_cast<double>(done) / static_cast<double>(dispatch_.asked());
    const std::int64_t answered = std::llround(images * share);
    reports_.progress("tiers", answered, data_.samples(), per_second(answered, last_answer_ - start_));
  }

  std::vector<TiersResult::Device> devices() const;
  void add_exits(TiersResult& result) const;

  const InferJob& job_;
  job::RoleContext& context_;
  NodeRoster& nodes_;
  Reports& reports_;
  BottomModels& bottom_models_;
  const TierExits exits_;
  const Hello& data_;
  const std::map<net::Rank, std::size_t>& tiers_;
  const Seconds timeout_;
  TierAnswers answers_;
  DeferredSamples deferred_;
  TierDispatch dispatch_;
  const Scheduler* scheduler_;
  std::deque<TierDispatch::Order> private_;  // that wait for values
  Seconds unheard_ = 0;                      // how long nobody listened before the last messages were taken
  std::map<TierTask, Instant> first_sent_;
  std::map<std::pair<net::Rank, TierTask>, Instant> sent_;
  Instant start_, last_answer_;
  job::Throttle throttle_;
  Seconds slowest_ = 0;  // answer so far
  Seconds seconds_ = 0;
};

std::vector<TiersResult::Device> TierRun::devices() const {
  std::vector<TiersResult::Device> devices;
  for (const TierDispatch::DeviceRecord& record : dispatch_.records())
    devices.push_back({.node = reports_.node(record.device.rank),
                       .tier = std::string(kTierNames[static_cast<std::size_t>(record.device.tier)]),
                       .tasks = record.answers,
                       .busy = record.busy,
                       .task = record.device.service,
                       .delay = record.device.delay,
                       .window = record.window,
                       .is_lost = record.dead});
  return devices;
}

/// Where images left, and what went up for those that stayed, beside their samples, a byte a value.
void TierRun::add_exits(TiersResult& result) const {
  const Shape sample({data_.sample_shape().begin(), data_.sample_shape().end()});
  const auto images = static_cast<double>(data_.samples());
  Bytes all = 0;
  result.sent_up.emplace();
  for (std::size_t answer = 1; answer < exits_.answers(); ++answer) {
    const Bytes sent = deferred_.received(static_cast<Answer>(answer));
    result.sent_up->push_back({std::string(kAnswerNames[answer]), sent, static_cast<double>(sent) / images});
    all += sent;
  }
  result.exits = answers_.exits();
  result.sent_up_bytes = all;
  result.sent_up_bytes_per_image = static_cast<double>(all) / images;
  result.sample_bytes = sample.elements();
}

TiersResult TierRun::result(Seconds predicted) const {
  std::int64_t skipped = 0, unasked = 0;
  for (std::size_t batch = 0; batch < answers_.batches(); ++batch) {
    for (std::size_t answer = 1; answer < exits_.answers(); ++answer) {
      const TierTask later{static_cast<Answer>(answer), batch};
      if (dispatch_.is_skipped(later)) skipped += answers_.count_of(batch);
      const std::int64_t asked = dispatch_.is_asked(later) ? std::ssize(answers_.images_of(later)) : 0;
      unasked += answers_.count_of(batch) - asked;
    }
  }
  const TierDispatch::Counts& counts = dispatch_.counts();
  TiersResult result;
  result.all.strategy = job_.strategy();
  result.all.images = data_.samples();
  result.all.images_per_s = per_second(data_.samples(), seconds_);
  result.all.seconds = seconds_;
  result.all.micro_batch = job_.micro_batch();
  result.scheduler = job_.scheduler();
  result.policy = job_.policy();
  result.predicted_seconds = predicted;
  result.image_seconds = seconds_ / static_cast<double>(data_.samples());
  result.repeated = counts.repeated;
  result.given_again = counts.given_again;
  result.stolen = counts.stolen;
  result.copied = counts.copied;
  answers_.summarize(skipped, unasked, result);
  for (std::size_t part = 0; part < result.tiers.size(); ++part) {
    if (!bottom_models_.has(part)) continue;
    result.tiers[part].privacy = job_.tiers(static_cast<int>(part)).privacy();
    result.tiers[part].bottom_seconds = bottom_models_.seconds(part);
    result.tiers[part].bytes_per_image = bottom_models_.bytes(part);
  }
  if (exits_.any()) add_exits(result);
  result.devices = devices();
  return result;
}

/// Why a node without the data does nothing.
std::string no_room(const InferJob& job) {
  const bool has_exits = has_tier_exits(job);
  return std::string("it does not have the ") + (has_exits ? "other nodes'" : "coordinator's") + " data set '" +
         job.data() + "', which " + (has_exits ? "end devices" : "devices of trusted tiers") +
         " need, and the other tiers are full";
}

/// By rank, the tier of the job that it gets tasks, and the network, of.
std::map<net::Rank, std::size_t> place(const InferJob& job, NodeRoster& nodes, Reports& reports) {
  std::map<net::Rank, std::string> names;
  net::RankSet without_data;
  for (const net::Rank rank : nodes.usable()) {
    names[rank] = reports.node(rank);
    if (!nodes.has_data(rank)) without_data.push_back(rank);
  }
  std::map<net::Rank, std::size_t> tiers = tiers_of(job, names, without_data);
  for (const auto& [rank, tier] : tiers) nodes.grant_network(rank, tier);
  for (const net::Rank rank : without_data)
    if (!tiers.contains(rank)) reports.event(NodeLeftOut{reports.node(rank), no_room(job)});
  return tiers;
}

Status lead(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports) {
  const Seconds timeout = job.answer_timeout_s();
  MG_TRY(const Scheduler* const scheduler, find_scheduler(job.scheduler()));
  MG_TRY(const FaultPolicy* const policy, find_fault_policy(job.policy()));
  MG_TRY(BottomModels bottom_models, BottomModels::create(job, context));
  MG_TRY(const TierExits exits, tier_exits(job));
  if (bottom_models.data()) nodes.set_data(*bottom_models.data());
  if (exits.any()) nodes.take_without_data();
  MG_TRY(const Hello data, nodes.gather());
  MG_RETURN_IF_ERROR(check_networks(job, data));
  const std::map<net::Rank, std::size_t> tiers = place(job, nodes, reports);
  MG_TRY(const std::vector<TierDispatch::Device> devices,
         measure_tiers(job, context, nodes, bottom_models, exits, data, tiers, timeout));
  TierDispatch::Options options{
      .scheduler = scheduler, .policy = policy, .timeout = timeout, .goal = {}, .later_on_demand = exits.any()};
  if (exits.any()) options.most_later = exits.most_kept(job.micro_batch());
  for (const TierPart& part : job.tiers()) options.accuracy[static_cast<std::size_t>(tier_of(part))] = part.accuracy();
  if (job.accuracy_floor() > 0) options.goal.accuracy_floor = job.accuracy_floor();
  if (job.finish_by_s() > 0) options.goal.deadline = context.clock.after(job.finish_by_s());
  TierRun run(job, context, nodes, reports, bottom_models, exits, data, tiers, devices, options);
  const auto batches = static_cast<std::size_t>((data.samples() + job.micro_batch() - 1) / job.micro_batch());
  const Seconds predicted = scheduler->predict(costs_of(job, bottom_models, batches, devices));
  MG_RETURN_IF_ERROR(run.run());
  reports.result(run.result(predicted));
  return {};
}

}  // namespace

Status run_tiers(const InferJob& job, job::RoleContext& context) {
  if (context.endpoint.rank() != 0) return run_tier_node(job, context);
  MG_RETURN_IF_ERROR(check_tiers(job));
  return lead_nodes(job, context,
                    [&](NodeRoster& nodes, Reports& reports) { return lead(job, context, nodes, reports); });
}

Strategy rows::tiers() {
  return {{.name = "tiers",
           .summary = "a network on each of end devices, edge servers and cloud: a first answer, then a finer one",
           .on_loss = "as the fault policy says"},
          {.networks = Networks::of_tiers},
          &run_tiers};
}

}  // namespace mangrove::infer
