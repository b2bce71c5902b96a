#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mangrove/base/units.h"

namespace mangrove::train {

// What the stages of a training pipeline do, and when.
//
//   what travels  A forward pass of a micro-batch begins when the values of the stage before have come; in the first
//                 stage, when the samples are read. It ends with sending values to the stage behind. The last stage
//                 computes the loss. A backward pass begins when the gradients of the stage behind have come, and ends
//                 with sending gradients to the stage before. An update needs no message, except for the sum among the
//                 replicas of a stage.
//   bytes         A schedule changes when messages are sent, not which. For each micro-batch and cut, the values that
//                 cross the cut travel once as f32, and gradients of the same size come back.
//   why it ends   Every stage has the same micro-batches in the same order, forward and backward. A stage therefore
//                 never waits for a message that its neighbour sends only after hearing of a later micro-batch.
//   idle time     With S equal stages and M micro-batches in a mini-batch, an update of gpipe and of one_f_one_b takes
//                 M + S - 1 turns of a forward and a backward pass, and each stage works in M of them. It is idle for
//                 (S - 1) / (M + S - 1) of the time. pipedream has no pause between mini-batches, and pays with late
//                 updates.
//   why right     With gpipe and one_f_one_b, all micro-batches of a mini-batch use the same parameters, since the
//                 update comes after the last backward pass. The sum of their gradients is that of the whole
//                 mini-batch. With pipedream, a backward pass uses the parameters of its forward pass, which the stage
//                 has kept.
//
// Each schedule below names its papers. lead_pipeline() says what rank 0 sends and gets, and what happens when a worker
// is lost.

/// One step of a stage. Micro-batches are counted through all mini-batches, from 0.
struct Action {
  enum class Kind {
    forward,   // the forward pass of this micro-batch
    backward,  // its backward pass
    update,    // an update of the stage's parameters with the gradients since the last update
  };
  Kind kind = Kind::forward;
  std::int64_t micro_batch = 0;
  bool operator==(const Action&) const = default;
};

/// devices: the number of a stage's replicas. behind: the micro-batches that are under way beyond one for each replica,
/// so that this stage and the stages behind it are always busy.
struct StageWidth {
  std::size_t devices = 1, behind = 0;
};
/// The width of a pipeline at one stage. devices: the number of devices of each stage.
///
/// Two neighbouring stages with a and b devices work on a + b micro-batches at a time, one on each device. To keep all
/// of these devices busy, the first of the two stages has a + b - 1 more micro-batches under way than the second.
/// `behind` is the sum of a + b - 1 from this stage to the last one. Without replicas that is 1 for each stage behind
/// this one.
StageWidth width_of(std::span<const std::size_t> devices, std::size_t stage);

/// The actions of one stage, in order, for several mini-batches. Each replica of the stage does the passes of its own
/// micro-batches, and every update. It is a pure function of the arguments.
///
/// micro_batches  the number of micro-batches of each mini-batch, at least 1. Each mini-batch makes one update.
/// ahead          further forward passes before the first backward pass, for each micro-batch of width.behind. They
///                keep the stage busy while messages travel.
using Schedule = std::vector<Action> (*)(StageWidth width, std::span<const std::int64_t> micro_batches,
                                         std::int64_t ahead);

/// All forward passes of a mini-batch come first, then all its backward passes, then the update. Every stage holds the
/// activations of all micro-batches of a mini-batch. source: Huang et al., GPipe, NeurIPS 2019.
std::vector<Action> gpipe_schedule(StageWidth width, std::span<const std::int64_t> micro_batches,
                                   std::int64_t ahead = 0);

/// After its first forward passes, each stage alternates one backward and one forward pass. So stage s of S holds at
/// most S - s micro-batches, and (S - 1 - s) * ahead more. With replicas, width_of() gives the number, for all replicas
/// of a stage together. It computes the same gradients and has the same idle time as gpipe. source: Narayanan et al.,
/// Memory-efficient pipeline-parallel DNN training, ICML 2021 (PipeDream-flush); Fan et al., DAPPLE, PPoPP 2021.
std::vector<Action> one_f_one_b_schedule(StageWidth width, std::span<const std::int64_t> micro_batches,
                                         std::int64_t ahead = 0);

/// One forward and one backward pass alternate without a pause between mini-batches. A stage makes its update after the
/// backward pass of a mini-batch, while others are under way with the parameters from before. So an update of stage s
/// of S is late by (S - 1 - s) * (1 + ahead) updates, once the pipeline is full. Mini-batches are not divided:
/// micro_batches must all be 1. REQUIRES: no replicas. source: Narayanan et al., PipeDream, SOSP 2019.
std::vector<Action> pipedream_schedule(StageWidth width, std::span<const std::int64_t> micro_batches,
                                       std::int64_t ahead = 0);

/// The difference between one pipeline strategy and another. They have everything else in common; see run_pipeline().
struct PipelineSchedule {
  Schedule actions;
  bool holds_all = false;    // every micro-batch of a mini-batch is under way at once
  bool is_stashing = false;  // a stage keeps older parameters for the mini-batches under way, which are not divided
};
inline constexpr PipelineSchedule kGpipe{.actions = &gpipe_schedule, .holds_all = true};
inline constexpr PipelineSchedule kOneFOneB{.actions = &one_f_one_b_schedule};
inline constexpr PipelineSchedule kPipeDream{.actions = &pipedream_schedule, .is_stashing = true};

/// Only the forward passes of this number of micro-batches.
std::vector<Action> forward_schedule(std::int64_t micro_batches);

/// For each micro-batch, the replica of a stage that has it. Within each mini-batch, the next micro-batch goes to the
/// replica that would finish it first. seconds: the time of each replica for a micro-batch, above 0.
std::vector<std::size_t> deal(std::span<const std::int64_t> micro_batches, std::span<const double> seconds);
/// The actions of one replica, among those of its stage.
std::vector<Action> actions_of(std::span<const Action> actions, std::span<const std::size_t> owners,
                               std::size_t replica);

/// The largest number of micro-batches that are between their forward and their backward pass at the same time.
std::int64_t most_in_flight(std::span<const Action> actions);

/// How late each update is: the number of updates of this stage between the parameters that its gradient was computed
/// with and the parameters that it changes. 0: it is not late.
std::vector<std::int64_t> staleness(std::span<const Action> actions);

/// The actions of one device, and its time for a pass of a micro-batch. Messages and updates take no time.
struct StageWorkload {
  std::size_t stage = 0;
  std::vector<Action> actions;
  Seconds forward = 0, backward = 0;
};
/// Plays the actions of all devices, in order. An action begins as soon as its device is free and the neighbouring
/// stage has sent the values. Returns the share of the whole time that each device is idle (its bubbles). REQUIRES:
/// devices in the order of their stages; actions of one Schedule.
std::vector<double> idle_shares(std::span<const StageWorkload> devices);

}  // namespace mangrove::train
