#pragma once

#include <span>
#include <vector>

#include "mangrove/train/messages.pb.h"
#include "mangrove/train/pipeline/schedule.h"
#include "mangrove/train/result.h"

namespace mangrove::train {

/// Adds up what the devices of a pipeline report of their iterations, in the order of their stages. The first iteration
/// does not count once there is a second one: in it programs are compiled and memory is used for the first time.
/// threads: one at a time.
class PipelineMeter {
 public:
  /// stages: names and ranges of the stages; the measured figures are filled in by report().
  explicit PipelineMeter(std::vector<TrainedStage> stages) : stages_(std::move(stages)), sums_(stages_.size()) {}

  /// done: what each device reports; values that make no sense count as nothing. seconds: the duration of the
  /// iteration.
  void add(std::span<const StageWork> done, Seconds seconds);
  /// actions: what each device did in the last iteration. The predicted idle shares come from them.
  std::vector<TrainedStage> report(std::span<const std::vector<Action>> actions) const;

 private:
  struct Sums {
    Seconds forward = 0, backward = 0, busy = 0;
    std::int64_t passes = 0, in_flight = 0;
    double busy_micro_batches = 0;
    std::vector<std::int64_t> staleness;
  };
  const std::vector<TrainedStage> stages_;
  std::vector<Sums> sums_;
  Seconds seconds_ = 0;
  int iterations_ = 0;
};

}  // namespace mangrove::train
