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

/// What one stage does, in order, for some mini-batches in a row. Pure: it depends on the arguments only.
/// stage: from 0 on, of `stages`. micro_batches: of each mini-batch, at least 1; an update is made with each
/// mini-batch. ahead: forward passes that a stage makes beyond the fewest before its first backward pass, for each
/// stage behind it: where messages take time, these keep it busy meanwhile.
using Schedule = std::vector<Action> (*)(std::size_t stage, std::size_t stages,
                                         std::span<const std::int64_t> micro_batches, std::int64_t ahead);

/// All forward passes of a mini-batch, then all its backward passes: every stage holds what all its micro-batches need
/// for their backward pass. source: Huang et al., GPipe, NeurIPS 2019.
std::vector<Action> gpipe_schedule(std::size_t stage, std::size_t stages, std::span<const std::int64_t> micro_batches,
                                   std::int64_t ahead = 0);

/// Each stage goes over to one forward, one backward pass as soon as it can, so that stage s of S holds no more than
/// S - s micro-batches, and (S - 1 - s) * ahead. The same gradients and the same bubble as gpipe. source: Narayanan et
/// al., Memory-efficient pipeline-parallel DNN training, ICML 2021 (PipeDream-flush); Fan et al., DAPPLE, PPoPP 2021.
std::vector<Action> one_f_one_b_schedule(std::size_t stage, std::size_t stages,
                                         std::span<const std::int64_t> micro_batches, std::int64_t ahead = 0);

/// One forward, one backward pass, without a pause between mini-batches: a stage makes its update after the backward
/// pass of a mini-batch, while others are under way with the parameters from before. So an update of stage s of S is
/// late by (S - 1 - s) * (1 + ahead) updates, once the pipeline is full. Mini-batches are not divided: micro_batches
/// must all be 1. source: Narayanan et al., PipeDream, SOSP 2019.
std::vector<Action> pipedream_schedule(std::size_t stage, std::size_t stages,
                                       std::span<const std::int64_t> micro_batches, std::int64_t ahead = 0);

/// The forward passes alone, of any number of micro-batches.
std::vector<Action> forward_schedule(std::int64_t micro_batches);

/// The most micro-batches that are between their forward and their backward pass.
std::int64_t most_in_flight(std::span<const Action> actions);

/// Of each update, between how many updates of this stage lie the parameters that its gradient was computed with and
/// those that it changes: 0 where it is not late.
std::vector<std::int64_t> staleness(std::span<const Action> actions);

/// What one stage takes for a micro-batch; messages and updates take no time.
struct StageTimes {
  Seconds forward = 0, backward = 0;
};
/// Plays the actions of all stages, in order: each as soon as its stage is free and its neighbour has sent what it
/// needs. Returns the time that each stage is idle until the last one is done, its bubbles, as a share of that time.
/// REQUIRES: as many times as stages; actions of one Schedule.
std::vector<double> idle_shares(std::span<const std::vector<Action>> stages, std::span<const StageTimes> times);

}  // namespace mangrove::train
