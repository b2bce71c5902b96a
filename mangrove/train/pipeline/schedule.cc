#include "mangrove/train/pipeline/schedule.h"

#include <algorithm>
#include <map>

#include "mangrove/base/check.h"

namespace mangrove::train {

// The network is cut into S stages, one device each. A mini-batch is cut into M micro-batches, which follow each other
// through the stages: activations go forward, their gradients come back. Only what crosses a cut travels: for each
// micro-batch and cut its activations once, and as many floats back. With M micro-batches every device is idle for
// about (S - 1) / (M + S - 1) of the time, while the pipeline fills and runs empty: the bubble.
//
// gpipe: all M micro-batches go forward, then all come back, then there is one update (Huang et al., NeurIPS 2019).
//
//   stage 0   F0 F1 F2 F3 .. .. .. .. B0 B1 B2 B3 U
//   stage 1   .. F0 F1 F2 F3 .. .. B0 B1 B2 B3 U
//   stage 2   .. .. F0 F1 F2 F3 B0 B1 B2 B3 U
//
// one_f_one_b: a stage makes as many forward passes as there are stages from it on, then a backward and a forward pass
// in turn. It has the same bubble, but stage s holds S - s micro-batches in place of M (Narayanan et al., ICML 2021).
//
// Both are right for the same reason: an update waits for the gradients of all micro-batches of its mini-batch, all of
// them computed with the same parameters. So they compute what one device does with the whole mini-batch.
//
// pipedream: the pipeline never runs empty. Mini-batches are not cut, and follow each other without a pause; each stage
// makes its update as soon as a mini-batch has come back. There is no bubble, but other mini-batches are under way with
// the parameters from before the update. A backward pass must use the parameters of its own forward pass, or the
// gradient would belong to no function at all; so a stage keeps those (weight stashing, see Stage). What remains is
// that updates are late, by up to S - 1 of them at the first stage and 0 at the last (Narayanan et al., SOSP 2019).

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
std::int64_t warm_up(StageWidth width, std::int64_t ahead) {
  return static_cast<std::int64_t>(width.devices) + static_cast<std::int64_t>(width.behind) * (1 + ahead);
}

}  // namespace

StageWidth width_of(std::span<const std::size_t> devices, std::size_t stage) {
  StageWidth width{.devices = devices[stage]};
  for (std::size_t s = stage; s + 1 < devices.size(); ++s) width.behind += devices[s] + devices[s + 1] - 1;
  return width;
}

std::vector<Action> gpipe_schedule(StageWidth, std::span<const std::int64_t> micro_batches, std::int64_t) {
  std::vector<Action> actions;
  std::int64_t first = 0;
  for (const std::int64_t count : micro_batches) {
    append_one_by_one(actions, first, count, count, false);
    first += count;
    actions.push_back({Kind::update, first - 1});
  }
  return actions;
}

std::vector<Action> one_f_one_b_schedule(StageWidth width, std::span<const std::int64_t> micro_batches,
                                         std::int64_t ahead) {
  std::vector<Action> actions;
  std::int64_t first = 0;
  for (const std::int64_t count : micro_batches) {
    append_one_by_one(actions, first, count, warm_up(width, ahead), false);
    first += count;
    actions.push_back({Kind::update, first - 1});
  }
  return actions;
}

std::vector<Action> pipedream_schedule(StageWidth width, std::span<const std::int64_t> micro_batches,
                                       std::int64_t ahead) {
  MG_CHECK(width.devices == 1);
  MG_CHECK(std::all_of(micro_batches.begin(), micro_batches.end(), [](std::int64_t count) { return count == 1; }));
  std::vector<Action> actions;
  append_one_by_one(actions, 0, static_cast<std::int64_t>(micro_batches.size()), warm_up(width, ahead), true);
  return actions;
}

std::vector<Action> forward_schedule(std::int64_t micro_batches) {
  std::vector<Action> actions;
  for (std::int64_t i = 0; i < micro_batches; ++i) actions.push_back({Kind::forward, i});
  return actions;
}

std::vector<std::size_t> deal(std::span<const std::int64_t> micro_batches, std::span<const double> seconds) {
  std::vector<std::size_t> owners;
  for (const std::int64_t count : micro_batches) {
    std::vector<double> done(seconds.begin(), seconds.end());  // with one more
    for (std::int64_t i = 0; i < count; ++i) {
      const auto first = static_cast<std::size_t>(std::min_element(done.begin(), done.end()) - done.begin());
      owners.push_back(first);
      done[first] += seconds[first];
    }
  }
  return owners;
}

std::vector<Action> actions_of(std::span<const Action> actions, std::span<const std::size_t> owners,
                               std::size_t replica) {
  std::vector<Action> own;
  for (const Action& action : actions)
    if (action.kind == Kind::update || owners[static_cast<std::size_t>(action.micro_batch)] == replica)
      own.push_back(action);
  return own;
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

std::vector<double> idle_shares(std::span<const StageWorkload> devices) {
  using Done = std::map<std::int64_t, Seconds>;  // when each micro-batch was done
  struct Device {
    std::size_t next = 0;
    Seconds now = 0, busy = 0;
  };
  if (devices.empty()) return {};
  const std::size_t last = devices.back().stage;
  std::vector<Device> played(devices.size());
  std::vector<Done> forward(last + 1), backward(last + 1);  // of each stage
  /// When what the action needs from a neighbour is there; nothing: not yet played.
  const auto needed = [&](std::size_t stage, const Action& action) -> const Seconds* {
    static constexpr Seconds kStart = 0;
    const bool is_forward = action.kind == Kind::forward;
    if (action.kind == Kind::update || (is_forward ? stage == 0 : stage == last)) return &kStart;
    const Done& done = is_forward ? forward[stage - 1] : backward[stage + 1];
    const auto found = done.find(action.micro_batch);
    return found == done.end() ? nullptr : &found->second;
  };
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      Device& device = played[d];
      for (; device.next < devices[d].actions.size(); ++device.next, goes_on = true) {
        const Action& action = devices[d].actions[device.next];
        const Seconds* const ready = needed(devices[d].stage, action);
        if (ready == nullptr) break;
        if (action.kind == Kind::update) continue;
        const bool is_forward = action.kind == Kind::forward;
        const Seconds takes = is_forward ? devices[d].forward : devices[d].backward;
        device.now = std::max(device.now, *ready) + takes;
        device.busy += takes;
        (is_forward ? forward : backward)[devices[d].stage][action.micro_batch] = device.now;
      }
    }
  }
  Seconds end = 0;
  for (const Device& device : played) end = std::max(end, device.now);
  std::vector<double> idle;
  for (const Device& device : played) idle.push_back(end > 0 ? 1 - device.busy / end : 0);
  return idle;
}

}  // namespace mangrove::train
