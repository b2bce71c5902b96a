#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mangrove/base/units.h"

namespace mangrove::train {

/// What one stage of a pipeline does next. Micro-batches are counted through all mini-batches, from 0.
struct Action {
  enum class Kind {
    forward,   // of this micro-batch
    backward,  // the same
    update,    // of the stage's parameters, with the gradients since the last one
  };
  Kind kind = Kind::forward;
  std::int64_t micro_batch = 0;
  bool operator==(const Action&) const = default;
};

/// How many devices a stage has, its replicas, and how many micro-batches beyond one for each of them keep it and the
/// stages behind it busy.
struct StageWidth {
  std::size_t devices = 1, behind = 0;
};
/// devices: of all stages. From one backward pass of a stage to the next one that waits for it, through the stage
/// before, the replicas of both take one micro-batch each: so many are under way more in the stage before than in this
/// one, less one. Without replicas: one for each stage behind.
StageWidth width_of(std::span<const std::size_t> devices, std::size_t stage);

/// What one stage does, in order, for some mini-batches in a row; each of its replicas, those of it that are of its own
/// micro-batches, and every update. Pure: it depends on the arguments only. micro_batches: of each mini-batch, at least
/// 1; an update is made with each mini-batch. ahead: forward passes that a stage makes beyond the fewest before its
/// first backward pass, for each of those behind it: where messages take time, these keep it busy meanwhile.
using Schedule = std::vector<Action> (*)(StageWidth width, std::span<const std::int64_t> micro_batches,
                                         std::int64_t ahead);

/// All forward passes of a mini-batch, then all its backward passes: every stage holds what all its micro-batches need
/// for their backward pass. source: Huang et al., GPipe, NeurIPS 2019.
std::vector<Action> gpipe_schedule(StageWidth width, std::span<const std::int64_t> micro_batches,
                                   std::int64_t ahead = 0);

/// Each stage goes over to one forward, one backward pass as soon as it can, so that stage s of S holds no more than
/// S - s micro-batches, and (S - 1 - s) * ahead; with replicas see width_of(), all of a stage together. The same
/// gradients and the same bubble as gpipe. source: Narayanan et al., Memory-efficient pipeline-parallel DNN training,
/// ICML 2021 (PipeDream-flush); Fan et al., DAPPLE, PPoPP 2021.
std::vector<Action> one_f_one_b_schedule(StageWidth width, std::span<const std::int64_t> micro_batches,
                                         std::int64_t ahead = 0);

/// One forward, one backward pass, without a pause between mini-batches: a stage makes its update after the backward
/// pass of a mini-batch, while others are under way with the parameters from before. So an update of stage s of S is
/// late by (S - 1 - s) * (1 + ahead) updates, once the pipeline is full. Mini-batches are not divided: micro_batches
/// must all be 1. REQUIRES: no replicas. source: Narayanan et al., PipeDream, SOSP 2019.
std::vector<Action> pipedream_schedule(StageWidth width, std::span<const std::int64_t> micro_batches,
                                       std::int64_t ahead = 0);

/// What makes one strategy of pipelines another. Everything else they have in common; see run_pipeline().
struct PipelineSchedule {
  Schedule actions;
  bool holds_all = false;    // every micro-batch of a mini-batch is under way at once
  bool is_stashing = false;  // a stage keeps older parameters for the mini-batches under way, which are not divided
};
inline constexpr PipelineSchedule kGpipe{.actions = &gpipe_schedule, .holds_all = true};
inline constexpr PipelineSchedule kOneFOneB{.actions = &one_f_one_b_schedule};
inline constexpr PipelineSchedule kPipeDream{.actions = &pipedream_schedule, .is_stashing = true};

/// The forward passes alone, of any number of micro-batches.
std::vector<Action> forward_schedule(std::int64_t micro_batches);

/// Which replica of a stage has each micro-batch of some mini-batches: of each mini-batch one after the other goes to
/// the replica that is done with it first. seconds: that each takes for one, above 0.
std::vector<std::size_t> deal(std::span<const std::int64_t> micro_batches, std::span<const double> seconds);
/// Of a stage's actions, those of one replica.
std::vector<Action> actions_of(std::span<const Action> actions, std::span<const std::size_t> owners,
                               std::size_t replica);

/// The most micro-batches that are between their forward and their backward pass.
std::int64_t most_in_flight(std::span<const Action> actions);

/// Of each update, between how many updates of this stage lie the parameters that its gradient was computed with and
/// those that it changes: 0 where it is not late.
std::vector<std::int64_t> staleness(std::span<const Action> actions);

/// What one device does, and takes for a micro-batch; messages and updates take no time.
struct StageWorkload {
  std::size_t stage = 0;
  std::vector<Action> actions;
  Seconds forward = 0, backward = 0;
};
/// Plays the actions of all devices, in order: each as soon as its device is free and its neighbour has sent what it
/// needs. Returns the time that each device is idle until the last one is done, its bubbles, as a share of that time.
/// REQUIRES: devices in the order of their stages; actions of one Schedule.
std::vector<double> idle_shares(std::span<const StageWorkload> devices);

}  // namespace mangrove::train
