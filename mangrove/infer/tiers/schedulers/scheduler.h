#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// Where a device is. End devices are weak and near the sensors, edge servers are near the end devices, and the cloud
/// is far away.
enum class Tier : std::uint8_t { end, edge, cloud };
constexpr std::size_t kTiers = 3;
constexpr std::array<std::string_view, kTiers> kTierNames = {"end", "edge", "cloud"};

/// End devices give the first answer to an image. Edge servers or the cloud give a second one that replaces it. With
/// exits on three levels (exits.h), the cloud gives a third answer to images that stay with the edge's.
enum class Answer : std::uint8_t { first, second, third };
constexpr std::size_t kAnswers = 3;
constexpr std::array<std::string_view, kAnswers> kAnswerNames = {"first", "second", "third"};

/// One answer to the images of one batch.
struct TierTask {
  Answer answer = Answer::first;
  std::size_t batch = 0;
  auto operator<=>(const TierTask&) const = default;
};

/// A device with its present measurements and load.
struct DeviceLoad {
  net::Rank rank = 0;
  Tier tier = Tier::end;
  bool usable = true;           // the fault policy regards it as alive
  bool gives_first = true;      // it has the samples, or gets values in their place
  Seconds service = 0;          // time of one task
  Seconds delay = 0;            // time of a task and its answer on their way
  std::size_t window = 1;       // the most tasks that it is given at once
  std::size_t outstanding = 0;  // tasks that it has now
  Instant free;                 // when it will have done these

  bool has_room() const { return usable && outstanding < window; }
  bool can_do(const TierTask& task) const { return gives_first || task.answer != Answer::first; }
  /// When the answer to one more task would be computed.
  Instant finish(Instant now) const { return std::max(free, now + delay) + service; }
};

/// What `auto` tries to reach besides a short time; at most one of the two is set.
struct TierGoal {
  std::optional<double> accuracy_floor = {};  // least mean accuracy of the second answers
  std::optional<Instant> deadline = {};       // be as accurate as possible by this time
};

/// Everything that a scheduler decides from.
struct TierState {
  Instant now;
  std::size_t batches = 0;                                    // batches of the job
  std::span<const DeviceLoad> devices;                        // by rank
  std::array<const std::deque<TierTask>*, kAnswers> waiting;  // by answer
  std::array<double, kTiers> accuracy = {};                   // accuracy of each tier's network; 0: not known
  std::array<std::size_t, kTiers> given = {};                 // second answers given to each tier
  TierGoal goal = {};

  bool has_usable(Tier tier) const;
};

/// Means over the devices of each tier, for predictions; t has the harmonic mean. All are 0 for a tier without devices.
struct TierCosts {
  struct Of {
    std::size_t devices = 0;
    Seconds service = 0;  // t: time of one task
    Seconds delay = 0;    // c: time of a task and its answer on their way
    double accuracy = 0;
  };
  std::size_t batches = 0;
  std::array<Of, kTiers> tiers;
  std::size_t levels = 0;  // levels of a network with exits, all needed by every batch; 0: no such network
  std::optional<double> accuracy_floor = {};
  std::optional<Seconds> deadline = {};  // from the start

  const Of& of(Tier tier) const { return tiers[static_cast<std::size_t>(tier)]; }
};

/// Gives a waiting task to a device.
struct Assignment {
  TierTask task;
  std::size_t device;  // in TierState::devices
};

/// One way of dividing tasks among tiers: one file, and one row of the table below. It decides only from its arguments
/// and has no memory, so one scheduler may take over from another at any time.
struct Scheduler {
  std::string_view name;
  std::string_view summary;
  std::size_t answers;      // the most answers that it asks for, for each image
  bool takes_goal = false;  // it considers TierState::goal
  /// Whether the task is meant for that tier.
  bool (*belongs)(const TierState& state, const TierTask& task, Tier tier);
  /// The next task to give out. Nothing: wait for an answer.
  std::optional<Assignment> (*next)(const TierState& state);
  /// The predicted time of the whole job, as a formula. It assumes that tasks in flight hide the delays.
  Seconds (*predict)(const TierCosts& costs);

  bool asks_for(Answer answer) const { return static_cast<std::size_t>(answer) < answers; }
};

std::span<const Scheduler> schedulers();
/// errors: invalid_argument (unknown, with the nearest known one).
Result<const Scheduler*> find_scheduler(std::string_view name);

/// The means over the devices of this tier. Devices: a range of structs with tier, service and delay.
template <class Devices>
TierCosts::Of mean_over(const Devices& devices, Tier tier) {
  TierCosts::Of of;
  double tasks_per_second = 0;
  for (const auto& device : devices) {
    if (device.tier != tier) continue;
    ++of.devices;
    of.delay += device.delay;
    tasks_per_second += 1 / std::max(device.service, 1e-9);
  }
  if (of.devices == 0) return of;
  of.delay /= static_cast<double>(of.devices);
  of.service = static_cast<double>(of.devices) / tasks_per_second;
  return of;
}

// For the schedulers' files.

using Belongs = bool (*)(const TierState& state, const TierTask& task, Tier tier);
/// Takes the first waiting task that belongs to the tier of a device with room, and gives it to the device that would
/// finish it first. If no device of the task's tiers is usable, it belongs to every tier.
std::optional<Assignment> next_of(const TierState& state, Belongs belongs);
/// Whether the task may go to the tier: it belongs there, or it belongs to no tier with a usable device.
bool may_run(const TierState& state, Belongs belongs, const TierTask& task, Tier tier);
/// The time of ceil(tasks / n) tasks on each of n devices of a tier, one after the other: c + ceil(tasks / n) t. 0 for
/// no task.
Seconds completion(const TierCosts::Of& tier, std::size_t tasks);
/// The time of these numbers of tasks on these tiers. If each tier has a network of its own, all tiers work at the same
/// time. With one network over the tiers, a task follows that of the tier before. Then the time is that of one task on
/// each tier, and of the other tasks on the slowest tier.
Seconds completion_of_all(const TierCosts& costs, std::span<const std::pair<Tier, std::size_t>> tasks);
/// The time of all first answers on the end devices and this number of second answers on that tier. If that tier has no
/// devices, the end devices give the second answers too.
Seconds completion_of_both(const TierCosts& costs, Tier tier, std::size_t tasks);

// The table. Each row is in a file of its own.

/// All schedulers, in the order of `--help`.
#define MG_SCHEDULERS kEndScheduler, kEndCloudScheduler, kEndEdgeScheduler, kMappingScheduler, kAutoScheduler

extern const Scheduler MG_SCHEDULERS;
inline constexpr std::reference_wrapper<const Scheduler> kSchedulers[] = {MG_SCHEDULERS};

}  // namespace mangrove::infer
