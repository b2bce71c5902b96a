#include "mangrove/infer/tiers.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>

#include "mangrove/graph/cut.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/split.h"
#include "mangrove/infer/job_settings.h"
#include "mangrove/infer/leader.h"
#include "mangrove/infer/privacy.h"
#include "mangrove/infer/tier_answers.h"
#include "mangrove/infer/tier_dispatch.h"
#include "mangrove/infer/tier_heads.h"
#include "mangrove/infer/tier_measurements.h"
#include "mangrove/infer/tier_node.h"
#include "mangrove/infer/trained_noise.h"
#include "mangrove/learn/replica.h"

namespace mangrove::infer {
namespace {

constexpr Seconds kProgressInterval = 0.2;
constexpr double kPatience = 10;         // timeouts without an answer before the job fails
constexpr Bytes kMostSent = 64'000'000;  // with one task, which is one message

Error bad(const std::string& problem) {
  return make_error(Code::invalid_argument, problem);
}

const TierPart* find_part(const InferJob& job, Tier tier) {
  const auto found = std::ranges::find(job.tiers(), kTierNames[static_cast<std::size_t>(tier)], &TierPart::name);
  return found == job.tiers().end() ? nullptr : &*found;
}

/// Devices that are not trusted need something in place of the samples, and something to make it of them; what comes
/// out must not be too much for a message.
Status check_privacy(const InferJob& job, int part) {
  if (job.tiers(part).trusted()) return {};
  MG_TRY(const Privacy privacy, parse_privacy(job.tiers(part).privacy()));
  const bool has_head = part < job.heads_size() && !job.heads(part).empty();
  if (!has_head) return bad("it is not trusted, and its network has no head");
  MG_TRY(const Graph head, parse_onnx(job.heads(part)).context("head"));
  MG_RETURN_IF_ERROR(noise_of(part < job.noises_size() ? job.noises(part) : "", privacy, head));
  const Bytes of_image = sent_bytes(privacy, elements_at_cut(head, head.nodes().size(), 1));
  const std::int64_t images = job.limit() > 0 ? std::min(job.micro_batch(), job.limit()) : job.micro_batch();
  if (of_image * images <= kMostSent) return {};
  return bad("privacy: split@" + privacy.layer + " sends " + format_bytes(of_image) + " for an image, and " +
             format_bytes(of_image * images) + " with a task of " + std::to_string(images) + "; the most is " +
             format_bytes(kMostSent) + ": take fewer images (micro_batch), levels, or a layer with fewer values");
}

Status check_parts(const InferJob& job) {
  if (job.members_size() != job.tiers_size() || job.tiers().empty())
    return bad("tiers: " + std::to_string(job.tiers_size()) + " tiers with " + std::to_string(job.members_size()) +
               " networks");
  for (int i = 0; i < job.tiers_size(); ++i) {
    const TierPart& part = job.tiers(i);
    const std::string who = "tiers: " + part.name();
    if (std::ranges::count(kTierNames, part.name()) == 0) return bad(who + ": expected end, edge or cloud");
    if (std::ranges::count(job.tiers(), part.name(), &TierPart::name) > 1) return bad(who + " is there twice");
    if (part.devices() < 1) return bad(who + ": devices must be 1 or more, got " + std::to_string(part.devices()));
    if (!(part.delay_s() >= 0 && std::isfinite(part.delay_s()) && part.rate() >= 0 && std::isfinite(part.rate())))
      return bad(who + ": delay and rate must be 0 or more");
    if (!(part.accuracy() >= 0 && part.accuracy() <= 1)) return bad(who + ": accuracy must be from 0 to 1");
    MG_RETURN_IF_ERROR(check_privacy(job, i).context(who));
  }
  return find_part(job, Tier::end) != nullptr ? Status() : bad("tiers: there is no tier end");
}

/// The tiers that second answers come from must be there.
Status check_scheduler(const InferJob& job, const std::string& name) {
  MG_TRY(const Scheduler* const scheduler, find_scheduler(name));
  if (!scheduler->gives_second) return {};
  std::vector<DeviceLoad> devices;
  for (const TierPart& part : job.tiers()) devices.push_back({.tier = tier_of(part), .service = 1, .free = {}});
  const TierState state{.now = {}, .batches = 1, .devices = devices, .waiting = {}};
  std::string wanted;
  for (const Tier tier : {Tier::edge, Tier::cloud}) {
    if (!scheduler->belongs(state, {Answer::second, 0}, tier)) continue;
    if (find_part(job, tier) != nullptr) return {};
    wanted += (wanted.empty() ? "" : " or ") + std::string(kTierNames[static_cast<std::size_t>(tier)]);
  }
  return bad("scheduler: " + name + " needs a tier " + wanted + ", and there is none");
}

Status check_goal(const InferJob& job) {
  const double floor = job.accuracy_floor();
  if (!(floor >= 0 && floor <= 1)) return bad("accuracy_floor: must be from 0 to 1");
  if (!(job.finish_by_s() >= 0 && std::isfinite(job.finish_by_s()))) return bad("finish_by: must be 0 or more");
  if (floor == 0 && job.finish_by_s() == 0) return {};
  const char* const key = floor > 0 ? "accuracy_floor" : "finish_by";
  if (job.scheduler() != "auto")
    return bad(std::string(key) + ": is for the scheduler auto, not '" + job.scheduler() + "'");
  if (floor > 0 && job.finish_by_s() > 0) return bad("accuracy_floor: give it or finish_by, not both");
  double most = 0;
  for (const TierPart& part : job.tiers()) {
    if (tier_of(part) == Tier::end) continue;
    if (part.accuracy() == 0)
      return bad(std::string(key) + ": needs the key 'accuracy' of tier '" + part.name() + "' in the tier file");
    most = std::max(most, part.accuracy());
  }
  if (floor <= most) return {};
  return bad("accuracy_floor: no tier reaches " + std::to_string(floor) + "; the most accurate has " +
             std::to_string(most));
}

/// A tier's network, with its head.
Result<Graph> whole_network(const InferJob& job, int part) {
  MG_TRY(Graph graph, parse_onnx(job.members(part)));
  if (job.tiers(part).trusted()) return graph;
  MG_RETURN_IF_ERROR(learn::check_single_exit(graph));
  MG_TRY(const Graph head, parse_onnx(job.heads(part)));
  return join(head, graph);
}

Status check_networks(const InferJob& job, const Hello& data) {
  for (int i = 0; i < job.tiers_size(); ++i) {
    const std::string who = "tiers: " + job.tiers(i).name();
    if (job.tiers(i).coarse() && data.coarse_of_class_size() != data.classes_size())
      return bad(who + ": labels are coarse, and data set '" + job.data() + "' has no coarse classes");
    MG_TRY(const Graph graph, whole_network(job, i).context(who));
    const int classes = job.tiers(i).coarse() ? data.coarse_classes_size() : data.classes_size();
    MG_RETURN_IF_ERROR(check_data(job, graph, data, classes).context(who));
  }
  return {};
}

/// From the first task to the last answer.
class TierRun {
 public:
  TierRun(const InferJob& job, net::RoleContext& context, Nodes& nodes, Reports& reports, TierHeads& heads,
          const Hello& data, const std::map<net::Rank, std::size_t>& tiers,
          const std::vector<TierDispatch::Device>& devices, const TierDispatch::Options& options)
      : job_(job),
        context_(context),
        nodes_(nodes),
        reports_(reports),
        heads_(heads),
        data_(data),
        tiers_(tiers),
        timeout_(options.timeout),
        answers_(job, data),
        dispatch_(answers_.batches(), devices, options),
        scheduler_(options.scheduler) {}

  Status run() {
    start_ = last_answer_ = context_.clock.now();
    while (true) {
      MG_RETURN_IF_ERROR(switch_scheduler());
      for (const auto& [rank, part] : tiers_)
        if (!nodes_.is_usable(rank)) dispatch_.lose(rank);
      for (const TierDispatch::Order& order : dispatch_.next(context_.clock.now())) MG_RETURN_IF_ERROR(follow(order));
      if (dispatch_.done()) break;
      const Instant listened = context_.clock.now();
      MG_RETURN_IF_ERROR(send_private());
      unheard_ = context_.clock.now() - listened;
      MG_TRY(const std::vector<Nodes::Said> all, nodes_.all(private_.empty() ? Instant::never() : Instant()));
      for (const Nodes::Said& said : all)
        if (said.message.has_tier_answer()) take(said.rank, said.message.tier_answer());
      const Seconds silent = context_.clock.now() - last_answer_;
      if (silent > kPatience * timeout_ + slowest_)
        return make_error(Code::unavailable, "tiers: no task was answered for " + format_seconds(silent) +
                                                 "; answer_timeout_s is " + format_seconds(timeout_));
    }
    seconds_ = last_answer_ - start_;
    return {};
  }

  Json result(Seconds predicted) const;

 private:
  /// To the one that the user wants, if that is another.
  Status switch_scheduler() {
    const std::optional<std::string> wanted = context_.switched_to();
    if (!wanted || *wanted == scheduler_->name) return {};
    MG_TRY(const Scheduler* const next, find_scheduler(*wanted));
    dispatch_.switch_to(*next);
    reports_.scheduler_switched(scheduler_->name, next->name, context_.clock.now() - start_);
    scheduler_ = next;
    return {};
  }

  /// A task that needs a head's values waits for its turn: they take time, in which nobody listens.
  Status follow(const TierDispatch::Order& order) {
    if (order.kind == TierDispatch::Order::Kind::run) {
      if (!heads_.has(tiers_.at(order.rank))) return send(order);
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
    MG_TRY(const Command command, task_command(job_, heads_, data_, order.task, tiers_.at(order.rank)));
    const Instant now = context_.clock.now();
    nodes_.send(order.rank, command);
    dispatch_.sent(order.rank, order.task, now);
    const auto [sent, is_new] = sent_.try_emplace({order.rank, order.task}, now);
    if (!is_new) sent->second = Instant::never();  // nobody knows which of the two an answer is to
    return {};
  }

  /// A device that has not seen the samples does not know what they are.
  void add_truths(TierAnswer& said) const {
    said.clear_truths();
    if (said.micro_batch() >= answers_.batches()) return;
    const std::int64_t first = answers_.first_of(said.micro_batch());
    for (std::int64_t i = 0; i < answers_.count_of(said.micro_batch()); ++i) said.add_truths(heads_.label(first + i));
  }

  void take(net::Rank rank, TierAnswer said) {
    const auto tier = tiers_.find(rank);
    if (tier == tiers_.end() || said.request() != 0) return;
    if (heads_.has(tier->second)) add_truths(said);
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
    Json line = answers_.add(task, said, tier->second, now - first_sent_.at(task));
    line["node"] = reports_.node(rank);
    line["at_s"] = now - start_;
    reports_.tier_answers(dump(line));
    report();
  }

  void report() {
    const std::size_t done = dispatch_.counts().answered;
    if (done < dispatch_.asked() && last_answer_ - last_report_ < kProgressInterval) return;
    last_report_ = last_answer_;
    const auto images = static_cast<double>(data_.samples());
    const double share = static_cast<double>(done) / static_cast<double>(dispatch_.asked());
    reports_.progress("tiers", std::llround(images * share), data_.samples(), last_answer_ - start_);
  }

  Json devices_json() const;

  const InferJob& job_;
  net::RoleContext& context_;
  Nodes& nodes_;
  Reports& reports_;
  TierHeads& heads_;
  const Hello& data_;
  const std::map<net::Rank, std::size_t>& tiers_;
  const Seconds timeout_;
  TierAnswers answers_;
  TierDispatch dispatch_;
  const Scheduler* scheduler_;
  std::deque<TierDispatch::Order> private_;  // that wait for values
  Seconds unheard_ = 0;                      // how long nobody listened before the last messages were taken
  std::map<TierTask, Instant> first_sent_;
  std::map<std::pair<net::Rank, TierTask>, Instant> sent_;
  Instant start_, last_answer_, last_report_;
  Seconds slowest_ = 0;  // answer so far
  Seconds seconds_ = 0;
};

Json TierRun::devices_json() const {
  Json devices = Json::array();
  for (const TierDispatch::DeviceRecord& record : dispatch_.records())
    devices.push_back({{"node", reports_.node(record.device.rank)},
                       {"tier", kTierNames[static_cast<std::size_t>(record.device.tier)]},
                       {"tasks", record.answers},
                       {"busy_s", record.busy},
                       {"task_s", record.device.service},
                       {"delay_s", record.device.delay},
                       {"window", record.window},
                       {"lost", record.dead}});
  return devices;
}

Json TierRun::result(Seconds predicted) const {
  std::int64_t skipped = 0, unasked = 0;
  for (std::size_t batch = 0; batch < answers_.batches(); ++batch) {
    const TierTask second{Answer::second, batch};
    if (dispatch_.is_skipped(second)) skipped += answers_.count_of(batch);
    if (!dispatch_.is_asked(second)) unasked += answers_.count_of(batch);
  }
  const TierDispatch::Counts& counts = dispatch_.counts();
  const std::int64_t images = data_.samples();
  Json json = {{"strategy", job_.strategy()},
               {"scheduler", job_.scheduler()},
               {"policy", job_.policy()},
               {"images", images},
               {"micro_batch", job_.micro_batch()},
               {"seconds", seconds_},
               {"predicted_seconds", predicted},
               {"images_per_s", per_second(images, seconds_)},
               {"image_s", seconds_ / static_cast<double>(images)},
               {"repeated", counts.repeated},
               {"given_again", counts.given_again},
               {"stolen", counts.stolen},
               {"copied", counts.copied}};
  json.update(answers_.summary(skipped, unasked));
  for (std::size_t part = 0; part < json["tiers"].size(); ++part) {
    if (!heads_.has(part)) continue;
    json["tiers"][part].update({{"privacy", job_.tiers(static_cast<int>(part)).privacy()},
                                {"head_s", heads_.seconds(part)},
                                {"bytes_per_image", heads_.bytes(part)}});
  }
  json["devices"] = devices_json();
  return json;
}

/// By rank, the tier of the job that it gets tasks, and the network, of.
std::map<net::Rank, std::size_t> place(const InferJob& job, Nodes& nodes, Reports& reports) {
  std::map<net::Rank, std::string> names;
  net::RankSet without_data;
  for (const net::Rank rank : nodes.usable()) {
    names[rank] = reports.node(rank);
    if (!nodes.has_data(rank)) without_data.push_back(rank);
  }
  std::map<net::Rank, std::size_t> tiers = tiers_of(job, names, without_data);
  for (const auto& [rank, tier] : tiers) nodes.grant_network(rank, tier);
  for (const net::Rank rank : without_data)
    if (!tiers.contains(rank))
      reports.node_left_out(rank, "it does not have the coordinator's data set '" + job.data() +
                                      "', which devices of trusted tiers need, and the other tiers are full");
  return tiers;
}

Status lead(const InferJob& job, net::RoleContext& context, Nodes& nodes, Reports& reports) {
  const Seconds timeout = answer_timeout(job);
  MG_TRY(const Scheduler* const scheduler, find_scheduler(job.scheduler()));
  MG_TRY(const FaultPolicy* const policy, find_fault_policy(job.policy()));
  MG_TRY(TierHeads heads, TierHeads::create(job, context));
  if (heads.data()) nodes.set_data(*heads.data());
  MG_TRY(const Hello data, nodes.gather());
  MG_RETURN_IF_ERROR(check_networks(job, data));
  const std::map<net::Rank, std::size_t> tiers = place(job, nodes, reports);
  MG_TRY(const std::vector<TierDispatch::Device> devices,
         measure_tiers(job, context, nodes, heads, data, tiers, timeout));
  TierDispatch::Options options{.scheduler = scheduler, .policy = policy, .timeout = timeout, .goal = {}};
  for (const TierPart& part : job.tiers()) options.accuracy[static_cast<std::size_t>(tier_of(part))] = part.accuracy();
  if (job.accuracy_floor() > 0) options.goal.accuracy_floor = job.accuracy_floor();
  if (job.finish_by_s() > 0) options.goal.deadline = context.clock.after(job.finish_by_s());
  TierRun run(job, context, nodes, reports, heads, data, tiers, devices, options);
  const auto batches = static_cast<std::size_t>((data.samples() + job.micro_batch() - 1) / job.micro_batch());
  const Seconds predicted = scheduler->predict(costs_of(job, heads, batches, devices));
  MG_RETURN_IF_ERROR(run.run());
  reports.result(dump(run.result(predicted)));
  return {};
}

}  // namespace

Status check_tiers(const InferJob& job) {
  MG_RETURN_IF_ERROR(check_parts(job));
  MG_RETURN_IF_ERROR(check_scheduler(job, job.scheduler()));
  MG_TRY(const FaultPolicy* const policy, find_fault_policy(job.policy()));
  static_cast<void>(policy);
  return check_goal(job);
}

Status check_switch(const InferJob& job, const std::string& scheduler) {
  if (job.strategy() != "tiers") return make_error(Code::failed_precondition, "the job that runs has no tiers");
  return check_scheduler(job, scheduler);
}

Status run_tiers(const InferJob& job, net::RoleContext& context) {
  if (context.endpoint.rank() != 0) return run_tier_node(job, context);
  MG_RETURN_IF_ERROR(check_tiers(job));
  return lead_nodes(job, context, [&](Nodes& nodes, Reports& reports) { return lead(job, context, nodes, reports); });
}

}  // namespace mangrove::infer
