#include "mangrove/infer/tiers/checks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "mangrove/base/suggestion.h"
#include "mangrove/graph/cut.h"
#include "mangrove/graph/exits.h"
#include "mangrove/graph/onnx.h"
#include "mangrove/graph/split.h"
#include "mangrove/infer/leader.h"
#include "mangrove/infer/tiers/exits.h"
#include "mangrove/infer/tiers/fault_policy.h"
#include "mangrove/infer/tiers/measurements.h"
#include "mangrove/infer/tiers/tier_file.h"
#include "mangrove/learn/replica.h"
#include "mangrove/privacy/split.h"
#include "mangrove/privacy/trained_noise.h"

namespace mangrove::infer {
namespace {

constexpr Seconds kLongestDelay = 3600;
constexpr double kLeastRate = 1;         // bytes a second
constexpr Bytes kMostSent = 64'000'000;  // with one task, which is one message

Error bad(const std::string& problem) {
  return make_error(Code::invalid_argument, problem);
}

const TierPart* find_part(const InferJob& job, Tier tier) {
  const auto found = std::ranges::find(job.tiers(), kTierNames[static_cast<std::size_t>(tier)], &TierPart::name);
  return found == job.tiers().end() ? nullptr : &*found;
}

/// What takes the place of samples must not be too much for a message.
Status check_sent(const InferJob& job, const std::string& what, Bytes of_image, const std::string& remedy) {
  const std::int64_t images = job.limit() > 0 ? std::min(job.micro_batch(), job.limit()) : job.micro_batch();
  if (of_image * images <= kMostSent) return {};
  return bad(what + " sends " + format_bytes(of_image) + " for an image, and " + format_bytes(of_image * images) +
             " with a task of " + std::to_string(images) + "; the most is " + format_bytes(kMostSent) +
             ": take fewer images (micro_batch), " + remedy);
}

/// Devices that are not trusted need something in place of the samples, and something to make it of them.
Status check_privacy(const InferJob& job, int part) {
  if (job.tiers(part).trusted() || has_tier_exits(job)) return {};  // which are for trusted tiers only
  MG_TRY(const privacy::PrivacySetting privacy, privacy::parse_privacy(job.tiers(part).privacy()));
  const bool has_bottom = part < job.bottom_models_size() && !job.bottom_models(part).empty();
  if (!has_bottom) return bad("it is not trusted, and its network has no bottom model");
  MG_TRY(const Graph bottom, parse_onnx(job.bottom_models(part)).context("bottom model"));
  MG_RETURN_IF_ERROR(privacy::noise_of(part < job.noises_size() ? job.noises(part) : "", privacy, bottom));
  const Bytes of_image = privacy::sent_bytes(privacy, elements_at_cut(bottom, bottom.nodes().size(), 1));
  return check_sent(job, "privacy: split@" + privacy.layer, of_image, "levels, or a layer with fewer values");
}

Status check_exits(const InferJob& job) {
  MG_TRY(const TierExits exits, tier_exits(job));
  for (const TierExits::Level& level : exits.levels)
    MG_RETURN_IF_ERROR(check_sent(job, "tiers: exits: exit " + std::to_string(level.end), level.value_bytes,
                                  "or an exit with fewer values behind it"));
  return {};
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
    if (part.devices() < 1 || part.devices() > kMostDevices)
      return bad(who + ": devices must be from 1 to " + std::to_string(kMostDevices) + ", got " +
                 std::to_string(part.devices()));
    if (!(part.delay_s() >= 0 && part.delay_s() <= kLongestDelay))
      return bad(who + ": delay must be from 0 to " + format_seconds(kLongestDelay));
    if (!(part.rate() == 0 || (part.rate() >= kLeastRate && std::isfinite(part.rate()))))
      return bad(who + ": rate must be 0, or 1 byte a second or more");
    if (!(part.accuracy() >= 0 && part.accuracy() <= 1)) return bad(who + ": accuracy must be from 0 to 1");
    MG_RETURN_IF_ERROR(check_privacy(job, i).context(who));
  }
  return find_part(job, Tier::end) != nullptr ? Status() : bad("tiers: there is no tier end");
}

/// The names of the schedulers that are so, for messages.
std::string schedulers_that(const std::function<bool(const Scheduler&)>& are_so) {
  std::vector<std::string> names;
  for (const Scheduler& scheduler : schedulers())
    if (are_so(scheduler)) names.emplace_back(scheduler.name);
  return join_words(names);
}

/// It gives all answers that images need which stay at an exit.
Status check_answers(const InferJob& job, const Scheduler& scheduler) {
  if (!has_tier_exits(job) || scheduler.answers >= answers_of(job)) return {};
  const std::string problem = "scheduler: " + std::string(scheduler.name) + " gives no ";
  if (scheduler.answers == 1)
    return bad(problem + "second answers; samples that stay at the exits of end devices need them");
  return bad(problem + "third answers; samples that stay at the exits of edge servers need them: take " +
             schedulers_that([&](const Scheduler& one) { return one.answers >= answers_of(job); }));
}

/// The tiers that second answers come from must be there.
Status check_scheduler(const InferJob& job, const std::string& name) {
  MG_TRY(const Scheduler* const scheduler, find_scheduler(name));
  MG_RETURN_IF_ERROR(check_answers(job, *scheduler));
  if (!scheduler->asks_for(Answer::second)) return {};
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
  if (floor == 0 && job.finish_by_s() == 0) return {};
  const char* const key = floor > 0 ? "accuracy_floor" : "finish_by";
  MG_TRY(const Scheduler* const scheduler, find_scheduler(job.scheduler()));
  if (!scheduler->takes_goal)
    return bad(std::string(key) + ": is for the scheduler " +
               schedulers_that([](const Scheduler& one) { return one.takes_goal; }) + ", not '" + job.scheduler() +
               "'");
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

/// A tier's network, with its bottom model; without early exits, where one with these lies over all tiers.
Result<Graph> whole_network(const InferJob& job, int part) {
  MG_TRY(Graph graph, parse_onnx(job.members(part)));
  if (has_tier_exits(job)) return without_early_exits(graph);
  if (job.tiers(part).trusted()) return graph;
  MG_RETURN_IF_ERROR(learn::check_single_exit(graph));
  MG_TRY(const Graph bottom, parse_onnx(job.bottom_models(part)));
  return join(bottom, graph);
}

}  // namespace

Status check_tiers(const InferJob& job) {
  MG_RETURN_IF_ERROR(check_parts(job));
  MG_RETURN_IF_ERROR(check_exits(job));
  MG_RETURN_IF_ERROR(check_scheduler(job, job.scheduler()));
  MG_TRY(const FaultPolicy* const policy, find_fault_policy(job.policy()));
  static_cast<void>(policy);
  return check_goal(job);
}

Status check_switch(const InferJob& job, const std::string& scheduler) {
  if (job.tiers().empty()) return make_error(Code::failed_precondition, "the job that runs has no tiers");
  return check_scheduler(job, scheduler);
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

}  // namespace mangrove::infer
