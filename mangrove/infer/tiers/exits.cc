#include "mangrove/infer/tiers/exits.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/format.h"
#include "mangrove/graph/exits.h"
#include "mangrove/graph/onnx.h"

namespace mangrove::infer {
namespace {

constexpr Bytes kMostKept = 256'000'000;

Error bad_exits(const std::string& problem) {
  return make_error(Code::invalid_argument, "tiers: exits: " + problem);
}

/// The tiers share a network and trust each other.
Status check_alike(const InferJob& job) {
  for (int i = 0; i < job.tiers_size(); ++i) {
    const TierPart& part = job.tiers(i);
    if (part.exits() != 0 && tier_of(part) == Tier::cloud)
      return bad_exits("are for the tiers end and edge, not for " + part.name() + ", which computes the rest");
    if (job.members(i) != job.members(0))
      return bad_exits(part.name() + " has another network than " + job.tiers(0).name() + "; one lies over all tiers");
    if (part.coarse() != job.tiers(0).coarse())
      return bad_exits(part.name() + " has other labels than " + job.tiers(0).name());
    if (!part.trusted())
      return bad_exits(part.name() +
                       " is not trusted: values behind an exit can show the samples, and go up as they are");
  }
  return {};
}

Status check_thresholds(const InferJob& job, const Graph& network) {
  const auto wanted = static_cast<int>(network.outputs().size()) - 1;
  const bool in_range = std::ranges::all_of(job.exit_thresholds(), [](float x) { return x >= 0 && x <= 1; });
  if (job.exit_thresholds_size() == wanted && in_range) return {};
  return make_error(Code::invalid_argument, "exit_thresholds: expected " + format_things(wanted, "number") +
                                                " from 0 to 1, one for each early " + "exit of the network, got " +
                                                std::to_string(job.exit_thresholds_size()));
}

Status check_no_goal(const InferJob& job) {
  if (job.accuracy_floor() > 0) return bad_exits("accuracy_floor: edge and cloud have the same network");
  if (job.finish_by_s() > 0) return bad_exits("finish_by: samples that stay have no other answer");
  return {};
}

/// Of the tier's devices; 0: no such tier, or it computes the rest of its network.
std::size_t exits_of(const InferJob& job, Tier tier) {
  for (const TierPart& part : job.tiers())
    if (tier_of(part) == tier) return static_cast<std::size_t>(std::max(0, part.exits()));
  return 0;
}

/// The tiers' exits follow each other, and leave some for the next.
Status check_order(const InferJob& job, const Graph& network) {
  const std::size_t end = exits_of(job, Tier::end), edge = exits_of(job, Tier::edge);
  const std::size_t early = network.outputs().size() - 1;
  const auto too_many = [&](const std::string& who, std::size_t exits) {
    return bad_exits(who + " cannot have " + std::to_string(exits) + " of the " +
                     format_things(static_cast<std::int64_t>(early), "early exit") + " of network '" + network.name() +
                     "'");
  };
  if (end == 0)
    return bad_exits("edge servers go on behind an exit of end devices, and section 'end' has no key 'exits'");
  if (end > early) return too_many("end devices", end);
  if (edge == 0) return {};
  if (edge > early) return too_many("edge servers", edge);
  if (edge <= end)
    return bad_exits("edge servers go on behind exit " + std::to_string(end) +
                     ", that of end devices, and stop at exit " + std::to_string(edge) + ": give them a later one");
  if (std::ranges::none_of(job.tiers(), [](const TierPart& part) { return tier_of(part) == Tier::cloud; }))
    return bad_exits("edge servers stop at exit " + std::to_string(edge) + ", and there is no tier cloud for the rest");
  return {};
}

}  // namespace

std::size_t TierExits::most_kept(std::int64_t samples) const {
  const Bytes of_task = samples * std::ranges::max(levels, {}, &Level::value_bytes).value_bytes;
  return static_cast<std::size_t>(std::max<Bytes>(1, kMostKept / std::max<Bytes>(1, of_task)));
}

Tier tier_of(const TierPart& part) {
  const auto found = std::ranges::find(kTierNames, part.name());
  return static_cast<Tier>(found - kTierNames.begin());
}

bool has_tier_exits(const InferJob& job) {
  return std::ranges::any_of(job.tiers(), [](const TierPart& part) { return part.exits() > 0; });
}

std::size_t answers_of(const InferJob& job) {
  return exits_of(job, Tier::edge) > 0 ? 3 : 2;
}

Result<TierExits> tier_exits(const InferJob& job) {
  const TierExits none;
  if (!has_tier_exits(job)) return none;
  MG_RETURN_IF_ERROR(check_alike(job));
  MG_RETURN_IF_ERROR(check_no_goal(job));
  MG_TRY(const Graph network, parse_onnx(job.members(0)).context("model"));
  if (!has_early_exits(network)) return bad_exits("network '" + network.name() + "' has no early exits");
  MG_RETURN_IF_ERROR(check_order(job, network));
  MG_RETURN_IF_ERROR(check_thresholds(job, network));
  const auto segments = exits::make_exit_segments(network, {.micro_batch = job.micro_batch(), .backend = {}});
  if (!segments.ok()) return bad_exits(segments.error().message);
  TierExits exits;
  for (std::size_t answer = 0; answer < answers_of(job); ++answer) {
    const std::size_t end = std::min(exit_range(job, static_cast<Answer>(answer)).end, network.outputs().size());
    exits.levels.push_back({.end = end, .value_bytes = (*segments)[end - 1]->passed_bytes()});
  }
  return exits;
}

exits::ExitRange exit_range(const InferJob& job, Answer answer) {
  const std::size_t end = exits_of(job, Tier::end), edge = exits_of(job, Tier::edge);
  if (answer == Answer::first) return {.end = end};
  if (answer == Answer::third) return {.first = edge};
  return edge > 0 ? exits::ExitRange{.first = end, .end = edge} : exits::ExitRange{.first = end};
}

Answer answer_of(const InferJob& job, std::size_t part) {
  const Tier tier = tier_of(job.tiers(static_cast<int>(part)));
  if (tier == Tier::end) return Answer::first;
  return tier == Tier::cloud && answers_of(job) == 3 ? Answer::third : Answer::second;
}

bool sees_samples(const InferJob& job, std::size_t part, Answer answer) {
  return job.tiers(static_cast<int>(part)).trusted() && !(has_tier_exits(job) && answer != Answer::first);
}

bool needs_data(const InferJob& job, std::size_t part) {
  return sees_samples(job, part, answer_of(job, part));
}

bool has_tier_without_data(const InferJob& job) {
  for (int part = 0; part < job.tiers_size(); ++part)
    if (!needs_data(job, static_cast<std::size_t>(part))) return true;
  return false;
}

void DeferredSamples::keep(const TierTask& task, std::string values) {
  received_[static_cast<std::size_t>(task.answer)] += std::ssize(values);
  values_[task] = std::move(values);
}

void DeferredSamples::give(Command& task) const {
  const auto answer = static_cast<Answer>(task.answer());
  const std::string& values = values_.at({answer, task.micro_batch()});
  task.set_count(std::ssize(values) / exits_.level(TierExits::before(answer)).value_bytes);
  task.set_values(values);
}

}  // namespace mangrove::infer
