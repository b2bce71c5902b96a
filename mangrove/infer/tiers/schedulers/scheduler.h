#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::infer {

/// Where a device is: weak ones near the sensors, servers near these, and machines far away.
enum class Tier : std::uint8_t { end, edge, cloud };
constexpr std::size_t kTiers = 3;
constexpr std::array<std::string_view, kTiers> kTierNames = {"end", "edge", "cloud"};

/// End devices give the first answer to an image; edge servers or the cloud one that replaces it. Of a network with
/// exits on three levels (exits.h) the cloud gives a third one where the edge's is not the last.
enum class Answer : std::uint8_t { first, second, third };
constexpr std::size_t kAnswers = 3;
constexpr std::array<std::string_view, kAnswers> kAnswerNames = {"first", "second", "third"};

/// One answer to the images of one batch.
struct TierTask {
  Answer answer = Answer::first;
  std::size_t batch = 0;
  auto operator<=>(const TierTask&) const = default;
};

/// A device as it is measured and loaded now.
struct DeviceLoad {
  net::Rank rank = 0;
  Tier tier = Tier::end;
  bool usable = true;           // as far as the fault policy looks
  bool gives_first = true;      // whether it can: it has the samples, or gets something in their place
  Seconds service = 0;          // of one task
  Seconds delay = 0;            // of a task and its answer on their way
  std::size_t window = 1;       // the most tasks at once that it is given
  std::size_t outstanding = 0;  // that it has now
  Instant free;                 // when it will be done with these

  bool has_room() const { return usable && outstanding < window; }
  bool can_do(const TierTask& task) const { return gives_first || task.answer != Answer::first; }
  /// When the answer of one more task would be there.
  Instant finish(Instant now) const { return std::max(free, now + delay) + service; }
};

/// What `auto` aims at besides being done soon; at most one of the two.
struct TierGoal {
  std::optional<double> accuracy_floor = {};  // of the second answers, on average
  std::optional<Instant> deadline = {};       // as accurate as can be by then
};

/// All that a scheduler decides from.
struct TierState {
  Instant now;
  std::size_t batches = 0;                                    // of the job
  std::span<const DeviceLoad> devices;                        // by rank
  std::array<const std::deque<TierTask>*, kAnswers> waiting;  // by answer
  std::array<double, kTiers> accuracy = {};                   // of each tier's network; 0: not known
  std::array<std::size_t, kTiers> given = {};                 // second answers, to each tier
  TierGoal goal = {};

  bool has_usable(Tier tier) const;
};

/// Means over the devices of each tier (of t the harmonic one), for predictions. Of a tier without devices all are 0.
struct TierCosts {
  struct Of {
    std::size_t devices = 0;
    Seconds service = 0;  // t: of one task
    Seconds delay = 0;    // c: of a task and its answer on their way
    double accuracy = 0;
  };
  std::size_t batches = 0;
  std::array<Of, kTiers> tiers;
  std::size_t levels = 0;  // of one network with exits, all of which all batches are taken to need; 0: no such network
  std::optional<double> accuracy_floor = {};
  std::optional<Seconds> deadline = {};  // from the start

  const Of& of(Tier tier) const { return tiers[static_cast<std::size_t>(tier)]; }
};

/// Which waiting task goes to which device.
struct Assignment {
  TierTask task;
  std::size_t device;  // in TierState::devices
};

/// One way of dividing tasks among tiers: one file, one row of the table below. Decides from what it is
/// shown alone, and has no memory, so that one may take over from another at any time.
struct Scheduler {
  std::string_view name;
  std::string_view summary;
  std::size_t answers;      // the most that it asks for, of each image
  bool takes_goal = false;  // it goes by TierState::goal
  /// Whether the task is one for that tier.
  bool (*belongs)(const TierState& state, const TierTask& task, Tier tier);
  /// What to give out next; nothing: wait for an answer.
  std::optional<Assignment> (*next)(const TierState& state);
  /// Closed-form completion time, with delays hidden by tasks in flight.
  Seconds (*predict)(const TierCosts& costs);

  bool asks_for(Answer answer) const { return static_cast<std::size_t>(answer) < answers; }
};

std::span<const Scheduler> schedulers();
/// errors: invalid_argument (unknown, with the nearest known one).
Result<const Scheduler*> find_scheduler(std::string_view name);

/// Of the devices (each with tier, service and delay) that are of that tier.
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
/// The first waiting task that belongs to the tier of a device with room goes to the device that would be done with it
/// first; where no device of its tiers is usable, it belongs to every tier.
std::optional<Assignment> next_of(const TierState& state, Belongs belongs);
/// Whether the task may go to the tier: it belongs there, or nowhere that is usable.
bool may_run(const TierState& state, Belongs belongs, const TierTask& task, Tier tier);
/// ceil(tasks / devices) tasks on each device of a tier, one after the other: c + ceil(tasks / n) t. 0 of no task.
Seconds completion(const TierCosts::Of& tier, std::size_t tasks);
/// Of so many tasks on each of these tiers. With a network each all work at the same time. Of one network with exits a
/// task follows from that of the tier before: then it is the time of one task on each tier, and of the slowest tier's
/// others.
Seconds completion_of_all(const TierCosts& costs, std::span<const std::pair<Tier, std::size_t>> tasks);
/// Of all first answers by the end devices, and so many second ones by that tier; by the end devices, where it has
/// none.
Seconds completion_of_both(const TierCosts& costs, Tier tier, std::size_t tasks);

// The rows, each in the file of its name, and the table.

extern const Scheduler kEndScheduler, kEndCloudScheduler, kEndEdgeScheduler, kMappingScheduler, kAutoScheduler;

inline constexpr std::array kSchedulers = {&kEndScheduler, &kEndCloudScheduler, &kEndEdgeScheduler, &kMappingScheduler,
                                           &kAutoScheduler};

}  // namespace mangrove::infer
