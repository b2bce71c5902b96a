#include "mangrove/infer/tier_exits.h"

#include <algorithm>
#include <utility>

#include "mangrove/graph/exits.h"
#include "mangrove/graph/onnx.h"

namespace mangrove::infer {
namespace {

Error bad(const std::string& problem) {
  return make_error(Code::invalid_argument, "tiers: exits: " + problem);
}

/// The tiers share a network and trust each other.
Status check_alike(const InferJob& job) {
  for (int i = 0; i < job.tiers_size(); ++i) {
    const TierPart& part = job.tiers(i);
    if (part.exits() != 0 && part.name() != kTierNames[0])
      return bad("are for the tier end, not for " + part.name() + ", which computes the rest");
    if (job.members(i) != job.members(0))
      return bad(part.name() + " has another network than " + job.tiers(0).name() + "; one lies over all tiers");
    if (part.coarse() != job.tiers(0).coarse())
      return bad(part.name() + " has other labels than " + job.tiers(0).name());
    if (!part.trusted())
      return bad(part.name() + " is not trusted: values behind an exit can show the samples, and go up as they are");
  }
  return {};
}

Status check_thresholds(const InferJob& job, const Graph& network) {
  const auto wanted = static_cast<int>(network.outputs().size()) - 1;
  const bool in_range = std::ranges::all_of(job.exit_thresholds(), [](float x) { return x >= 0 && x <= 1; });
  if (job.exit_thresholds_size() == wanted && in_range) return {};
  return make_error(Code::invalid_argument, "exit_thresholds: expected " + std::to_string(wanted) +
                                                " number(s) from 0 to 1, one for each early " +
                                                "exit of the network, got " +
                                                std::to_string(job.exit_thresholds_size()));
}

Status check_goal(const InferJob& job) {
  if (job.accuracy_floor() > 0) return bad("accuracy_floor: edge and cloud have the same network");
  if (job.finish_by_s() > 0) return bad("finish_by: samples that stay have no other answer");
  return {};
}

int end_exits(const InferJob& job) {
  int exits = 0;
  for (const TierPart& part : job.tiers()) exits = std::max(exits, part.exits());
  return exits;
}

}  // namespace

bool has_tier_exits(const InferJob& job) {
  return end_exits(job) > 0;
}

Result<TierExits> tier_exits(const InferJob& job) {
  const TierExits none;
  if (!has_tier_exits(job)) return none;
  MG_RETURN_IF_ERROR(check_alike(job));
  MG_RETURN_IF_ERROR(check_goal(job));
  MG_TRY(const Graph network, parse_onnx(job.members(0)).context("model"));
  if (!has_early_exits(network)) return bad("network '" + network.name() + "' has no early exits");
  TierExits exits{.on_end = static_cast<std::size_t>(end_exits(job)), .exits = network.outputs().size()};
  if (exits.on_end >= exits.exits)
    return bad("end devices cannot have " + std::to_string(exits.on_end) + " of the " +
               std::to_string(exits.exits - 1) + " early exit(s) of network '" + network.name() + "'");
  MG_RETURN_IF_ERROR(check_thresholds(job, network));
  const auto segments = make_exit_segments(network, {.micro_batch = job.micro_batch(), .backend = {}});
  if (!segments.ok()) return bad(segments.error().message);
  exits.value_bytes = (*segments)[exits.on_end - 1]->passed_bytes();
  return exits;
}

ExitRange exit_range(const InferJob& job, Answer answer) {
  const auto behind = static_cast<std::size_t>(end_exits(job));
  return answer == Answer::first ? ExitRange{.end = behind} : ExitRange{.first = behind};
}

bool sees_samples(const InferJob& job, std::size_t part, Answer answer) {
  return job.tiers(static_cast<int>(part)).trusted() && !(has_tier_exits(job) && answer == Answer::second);
}

bool needs_data(const InferJob& job, std::size_t part) {
  const bool is_end = job.tiers(static_cast<int>(part)).name() == kTierNames[0];
  return sees_samples(job, part, is_end ? Answer::first : Answer::second);
}

bool has_tier_without_data(const InferJob& job) {
  for (int part = 0; part < job.tiers_size(); ++part)
    if (!needs_data(job, static_cast<std::size_t>(part))) return true;
  return false;
}

void Survivors::keep(std::size_t batch, std::string values) {
  received_ += std::ssize(values);
  values_[batch] = std::move(values);
}

void Survivors::give(Command& task) const {
  const std::string& values = values_.at(task.micro_batch());
  task.set_count(std::ssize(values) / exits_.value_bytes);
  task.set_values(values);
}

}  // namespace mangrove::infer
