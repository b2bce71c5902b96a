#include "mangrove/train/pipeline_schedule.h"

#include <algorithm>
#include <map>

#include "mangrove/base/check.h"

namespace mangrove::train {
namespace {

using Kind = Action::Kind;

/// `ahead` forward passes, then a backward and a forward pass in turn, then the backward passes that are left.
void append_one_by_one(std::vector<Action>& actions, std::int64_t first, std::int64_t count, std::int64_t ahead,
                       bool updates_each) {
  ahead = std::min(ahead, count);
  for (std::int64_t i = 0; i < ahead; ++i) actions.push_back({Kind::forward, first + i});
  for (std::int64_t i = 0; i < count; ++i) {
    actions.push_back({Kind::backward, first + i});
    if (updates_each) actions.push_back({Kind::update, first + i});
    if (ahead + i < count) actions.push_back({Kind::forward, first + ahead + i});
  }
}

/// Forward passes before the first backward pass.
std::int64_t warm_up(std::size_t stage, std::size_t stages, std::int64_t ahead) {
  const auto behind = static_cast<std::int64_t>(stages - stage) - 1;
  return 1 + behind * (1 + ahead);
}

}  // namespace

std::vector<Action> gpipe_schedule(std::size_t, std::size_t, std::span<const std::int64_t> micro_batches,
                                   std::int64_t) {
  std::vector<Action> actions;
  std::int64_t first = 0;
  for (const std::int64_t count : micro_batches) {
    append_one_by_one(actions, first, count, count, false);
    first += count;
    actions.push_back({Kind::update, first - 1});
  }
  return actions;
}

std::vector<Action> one_f_one_b_schedule(std::size_t stage, std::size_t stages,
                                         std::span<const std::int64_t> micro_batches, std::int64_t ahead) {
  std::vector<Action> actions;
  std::int64_t first = 0;
  for (const std::int64_t count : micro_batches) {
    append_one_by_one(actions, first, count, warm_up(stage, stages, ahead), false);
    first += count;
    actions.push_back({Kind::update, first - 1});
  }
  return actions;
}

std::vector<Action> pipedream_schedule(std::size_t stage, std::size_t stages,
                                       std::span<const std::int64_t> micro_batches, std::int64_t ahead) {
  MG_CHECK(std::all_of(micro_batches.begin(), micro_batches.end(), [](std::int64_t count) { return count == 1; }));
  std::vector<Action> actions;
  append_one_by_one(actions, 0, static_cast<std::int64_t>(micro_batches.size()), warm_up(stage, stages, ahead), true);
  return actions;
}

std::vector<Action> forward_schedule(std::int64_t micro_batches) {
  std::vector<Action> actions;
  for (std::int64_t i = 0; i < micro_batches; ++i) actions.push_back({Kind::forward, i});
  return actions;
}

std::int64_t most_in_flight(std::span<const Action> actions) {
  std::int64_t now = 0, most = 0;
  for (const Action& action : actions) {
    if (action.kind == Kind::forward) most = std::max(most, ++now);
    if (action.kind == Kind::backward) --now;
  }
  return most;
}

std::vector<std::int64_t> staleness(std::span<const Action> actions) {
  std::map<std::int64_t, std::int64_t> updates_before;  // the forward pass of each micro-batch
  std::vector<std::int64_t> late;
  std::int64_t oldest = 0;  // updates before the forward passes that the next update's gradients come from
  for (const Action& action : actions) {
    const auto updates = static_cast<std::int64_t>(late.size());
    if (action.kind == Kind::forward) updates_before[action.micro_batch] = updates;
    if (action.kind == Kind::backward) oldest = updates_before[action.micro_batch];
    if (action.kind == Kind::update) late.push_back(updates - oldest);
  }
  return late;
}

std::vector<double> idle_shares(std::span<const std::vector<Action>> stages, std::span<const StageTimes> times) {
  MG_CHECK(stages.size() == times.size());
  struct Stage {
    std::size_t next = 0;
    Seconds now = 0, busy = 0;
    std::map<std::int64_t, Seconds> forward, backward;  // when each micro-batch was done
  };
  std::vector<Stage> played(stages.size());
  /// When what the action needs from a neighbour is there; nothing: not yet played.
  const auto needed = [&](std::size_t s, const Action& action) -> const Seconds* {
    static constexpr Seconds kStart = 0;
    const bool is_forward = action.kind == Kind::forward;
    if (action.kind == Kind::update || (is_forward ? s == 0 : s + 1 == stages.size())) return &kStart;
    const auto& done = is_forward ? played[s - 1].forward : played[s + 1].backward;
    const auto found = done.find(action.micro_batch);
    return found == done.end() ? nullptr : &found->second;
  };
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      Stage& stage = played[s];
      for (; stage.next < stages[s].size(); ++stage.next, goes_on = true) {
        const Action& action = stages[s][stage.next];
        const Seconds* const ready = needed(s, action);
        if (ready == nullptr) break;
        if (action.kind == Kind::update) continue;
        const bool is_forward = action.kind == Kind::forward;
        const Seconds takes = is_forward ? times[s].forward : times[s].backward;
        stage.now = std::max(stage.now, *ready) + takes;
        stage.busy += takes;
        (is_forward ? stage.forward : stage.backward)[action.micro_batch] = stage.now;
      }
    }
  }
  Seconds end = 0;
  for (const Stage& stage : played) end = std::max(end, stage.now);
  std::vector<double> idle;
  for (const Stage& stage : played) idle.push_back(end > 0 ? 1 - stage.busy / end : 0);
  return idle;
}

}  // namespace mangrove::train
