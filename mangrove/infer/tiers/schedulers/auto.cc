#include <cmath>
#include <limits>
#include <vector>

#include "mangrove/infer/tiers/schedulers/scheduler.h"

namespace mangrove::infer {
namespace {

constexpr std::array kUpperTiers = {Tier::edge, Tier::cloud};
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// A device that answers one task after the other, each `service` seconds, the first one so long after now.
struct Server {
  Tier tier;
  Seconds first;
  Seconds service;

  double answers_within(Seconds time) const {
    if (time < first) return 0;
    return 1 + std::floor((time - first) / std::max(service, 1e-9) + 1e-9);
  }
};
using Servers = std::vector<Server>;

/// The most further tasks that each tier may get.
using Limits = std::array<std::size_t, kTiers>;

double answers_within(const Servers& servers, const Limits& limits, Seconds time) {
  std::array<double, kTiers> of{};
  for (const Server& server : servers) of[static_cast<std::size_t>(server.tier)] += server.answers_within(time);
  double sum = 0;
  for (const Tier tier : kUpperTiers) {
    const auto i = static_cast<std::size_t>(tier);
    sum += std::min(of[i], static_cast<double>(limits[i]));
  }
  return sum;
}

/// The least time in which the servers give this number of answers together. 0 for no answer; infinity if they never
/// do.
Seconds least_time(const Servers& servers, const Limits& limits, std::size_t tasks) {
  if (tasks == 0) return 0;
  const auto wanted = static_cast<double>(tasks);
  Seconds low = 0, high = 0;
  for (const Server& server : servers) high = std::max(high, server.first + wanted * server.service);
  if (answers_within(servers, limits, high) < wanted) return std::numeric_limits<Seconds>::infinity();
  for (int i = 0; i < 60 && high - low > 1e-9 * high; ++i) {
    const Seconds middle = (low + high) / 2;
    (answers_within(servers, limits, middle) >= wanted ? high : low) = middle;
  }
  return high;
}

/// The most tasks that may go to each less accurate tier, so that the mean accuracy reaches the floor if the most
/// accurate tier gets all other tasks. total: all tasks; remaining: those that are still to be given. given: as in
/// TierState.
Limits limits_for(const std::array<double, kTiers>& accuracy, const std::array<std::size_t, kTiers>& given,
                  std::size_t total, std::size_t remaining, double floor, Tier best) {
  Limits limits;
  limits.fill(kNoLimit);
  double sum = 0;
  for (const Tier tier : kUpperTiers) {
    const auto i = static_cast<std::size_t>(tier);
    sum += static_cast<double>(given[i]) * accuracy[i];
  }
  const double top = accuracy[static_cast<std::size_t>(best)];
  const double spare = sum + static_cast<double>(remaining) * top - static_cast<double>(total) * floor;
  for (const Tier tier : kUpperTiers) {
    const double loss = top - accuracy[static_cast<std::size_t>(tier)];
    if (tier != best && loss > 0)
      limits[static_cast<std::size_t>(tier)] =
          static_cast<std::size_t>(std::clamp(std::floor(spare / loss + 1e-9), 0.0, static_cast<double>(total)));
  }
  return limits;
}

Tier most_accurate(const std::array<double, kTiers>& accuracy, bool has_edge, bool has_cloud) {
  if (!has_edge || !has_cloud) return has_edge ? Tier::edge : Tier::cloud;
  const bool is_edge = accuracy[static_cast<std::size_t>(Tier::edge)] > accuracy[static_cast<std::size_t>(Tier::cloud)];
  return is_edge ? Tier::edge : Tier::cloud;
}

bool belongs(const TierState&, const TierTask& task, Tier tier) {
  return (task.answer == Answer::first) == (tier == Tier::end);
}

Servers upper_servers(const TierState& state) {
  Servers servers;
  for (const DeviceLoad& device : state.devices)
    if (device.usable && device.tier != Tier::end)
      servers.push_back({device.tier, device.finish(state.now) - state.now, device.service});
  return servers;
}

/// By when the waiting second answers are to be there, by tier: a device that is not done with one more task by then
/// gets none.
std::array<Seconds, kTiers> latest(const TierState& state, std::size_t waiting) {
  const Servers servers = upper_servers(state);
  Limits limits;
  limits.fill(kNoLimit);
  const Tier best = most_accurate(state.accuracy, state.has_usable(Tier::edge), state.has_usable(Tier::cloud));
  const std::size_t other = static_cast<std::size_t>(best == Tier::edge ? Tier::cloud : Tier::edge);
  std::array<Seconds, kTiers> until{};
  if (state.goal.deadline) {
    const Seconds left = *state.goal.deadline - state.now;
    until.fill(left);
    limits[other] = 0;
    if (answers_within(servers, limits, left) >= static_cast<double>(waiting)) until[other] = 0;
    return until;
  }
  if (state.goal.accuracy_floor)
    limits = limits_for(state.accuracy, state.given, state.batches, waiting, *state.goal.accuracy_floor, best);
  until.fill(least_time(servers, limits, waiting));
  for (std::size_t tier = 0; tier < kTiers; ++tier)
    if (limits[tier] == 0) until[tier] = 0;
  return until;
}

/// Second answers: the device that would be done first, of those that help to be done soon. It is not given a task
/// that another one would have done sooner though it is busy now.
std::optional<Assignment> next(const TierState& state) {
  TierState firsts = state;
  static const std::deque<TierTask> kNone;
  firsts.waiting[1] = &kNone;
  if (auto first = next_of(firsts, &belongs)) return first;
  const std::deque<TierTask>& waiting = *state.waiting[1];
  if (waiting.empty()) return std::nullopt;
  if (!state.has_usable(Tier::edge) && !state.has_usable(Tier::cloud)) return next_of(state, &belongs);
  const std::array<Seconds, kTiers> until = latest(state, waiting.size());
  std::optional<Assignment> best;
  for (std::size_t i = 0; i < state.devices.size(); ++i) {
    const DeviceLoad& device = state.devices[i];
    if (device.tier == Tier::end || !device.has_room()) continue;
    const Seconds finish = device.finish(state.now) - state.now;
    if (finish > until[static_cast<std::size_t>(device.tier)] * (1 + 1e-9)) continue;
    if (!best || device.finish(state.now) < state.devices[best->device].finish(state.now)) best = {waiting.front(), i};
  }
  return best;
}

/// The least time in which edge and cloud together, each device from when its first answer can be there, give as many
/// answers as there are batches, of the less accurate tier no more than the floor allows; and T_end. With a deadline
/// no longer than that, if the most accurate tier alone would take longer.
Seconds predict(const TierCosts& costs) {
  Servers servers;
  std::array<double, kTiers> accuracy{};
  for (const Tier tier : kUpperTiers) {
    const TierCosts::Of& of = costs.of(tier);
    servers.insert(servers.end(), of.devices, {tier, of.delay + of.service, of.service});
    accuracy[static_cast<std::size_t>(tier)] = of.accuracy;
  }
  if (servers.empty()) return completion(costs.of(Tier::end), 2 * costs.batches);  // these give both answers
  const Tier best = most_accurate(accuracy, costs.of(Tier::edge).devices > 0, costs.of(Tier::cloud).devices > 0);
  Limits limits;
  limits.fill(kNoLimit);
  if (costs.accuracy_floor)
    limits = limits_for(accuracy, {}, costs.batches, costs.batches, *costs.accuracy_floor, best);
  if (costs.deadline) limits[static_cast<std::size_t>(best == Tier::edge ? Tier::cloud : Tier::edge)] = 0;
  Seconds upper = least_time(servers, limits, costs.batches);
  if (costs.deadline) upper = std::min(upper, *costs.deadline);
  if (costs.levels == 0) return std::max(completion(costs.of(Tier::end), costs.batches), upper);
  const Seconds one = completion(costs.of(Tier::end), 1), least = std::ranges::min(servers, {}, &Server::first).first;
  return one + least + std::max(completion(costs.of(Tier::end), costs.batches) - one, upper - least);
}

}  // namespace

const Scheduler kAutoScheduler = {
    .name = "auto",
    .summary = "the edge or the cloud gives a second answer, whichever is faster by the present measurements",
    .answers = 2,
    .takes_goal = true,
    .belongs = &belongs,
    .next = &next,
    .predict = &predict};

}  // namespace mangrove::infer
