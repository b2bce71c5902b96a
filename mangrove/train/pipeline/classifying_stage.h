#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mangrove/engine/execution.h"
#include "mangrove/learn/loss.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/pipeline/cut.h"
#include "mangrove/train/pipeline/iteration.h"
#include "mangrove/train/pipeline/places.h"
#include "mangrove/train/pipeline/stage_values.h"

namespace mangrove::train {

/// A stage of a network that only classifies: it makes forward passes with its running statistics.
/// threads: one at a time.
class ClassifyingStage {
 public:
  struct Options {
    std::int64_t micro_batch = 1;
    std::string backend;  // "": the fastest
    int threads = 1;
  };
  /// state: begins with the stage's parameters and running statistics, see Stage. errors: those of Graph::slice,
  /// StageValues::of, Program::compile and Execution::create; invalid_argument (the state is too short).
  static Result<std::unique_ptr<ClassifyingStage>> create(const Graph& graph, const StageRange& range,
                                                          std::span<const float> state, const Options& options);

  const StageValues& values() const { return values_; }
  double forward_flops() const { return forward_flops_; }
  /// The values behind the stage; valid until the next call.
  std::span<const float> forward(std::span<const float> received);

 private:
  ClassifyingStage() = default;
  StageValues values_;
  double forward_flops_ = 0;
  std::unique_ptr<Execution> execution_;
  std::vector<float> sent_;
};

/// Adds the classes of a micro-batch to the answer, and the micro-batch's part of the loss of its mini-batch. logits:
/// the network's outputs for all rows.
void add_classes(const MicroBatch& micro_batch, const PipelineIteration::Targets& targets,
                 std::span<const float> logits, const learn::Loss& loss, Answer& answer);

}  // namespace mangrove::train
