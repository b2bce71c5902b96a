#pragma once

#include <span>
#include <vector>

#include "mangrove/train/messages.pb.h"
#include "mangrove/train/pipeline/schedule.h"
#include "mangrove/train/result.h"

namespace mangrove::train {

/// Adds up what the devices of a pipeline tell of their passages, in the order of their stages. The first one is not
/// counted once there is another: programs are compiled and memory is touched in it. threads: one at a time.
class PipelineMeter {
 public:
  /// stages: who and what they are; the figures are filled in.
  explicit PipelineMeter(std::vector<TrainedStage> stages) : stages_(std::move(stages)), sums_(stages_.size()) {}

  /// done: of each device; what makes no sense counts as nothing. seconds: that the passage took.
  void add(std::span<const StageWork> done, Seconds seconds);
  /// actions: of each device in the last passage, for the predicted idle shares.
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
  int passages_ = 0;
};

}  // namespace mangrove::train
