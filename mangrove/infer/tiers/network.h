#pragma once

#include <memory>

#include "mangrove/data/loader.h"
#include "mangrove/engine/compiled_stage.h"
#include "mangrove/graph/graph.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/tiers/schedulers/scheduler.h"

namespace mangrove::infer {

/// The network with which a device of the tiers strategy computes answers. threads: one at a time.
class TierNetwork {
 public:
  virtual ~TierNetwork() = default;
  /// Bytes of the values that come with a task in place of one sample. 0: the task is about samples.
  virtual Bytes value_bytes() const { return 0; }
  /// samples: those of the task, with labels. They have no images if values come with the task. errors: those of
  /// computing and of reading the values.
  virtual Result<TierAnswer> answer(const Command& task, const data::Batch& samples) = 0;
  /// Floating-point operations of the last answer's matrix products.
  virtual double flops() const = 0;
};

/// The network of a tier. part: the tier's position in the job. If one network with early exits lies over the tiers,
/// this is its part for `answer`. errors: those of parse_privacy, Replica::create and EarlyExit::create.
Result<std::unique_ptr<TierNetwork>> make_tier_network(const Graph& graph, const InferJob& job, std::size_t part,
                                                       Answer answer, const CompiledStageOptions& options);

}  // namespace mangrove::infer
