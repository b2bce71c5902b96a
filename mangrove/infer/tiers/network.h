#pragma once

#include <memory>

#include "mangrove/data/loader.h"
#include "mangrove/engine/compiled_stage.h"
#include "mangrove/graph/graph.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/tiers/schedulers/scheduler.h"

namespace mangrove::infer {

/// What a device of the tiers strategy computes answers with.
/// threads: one at a time.
class TierNetwork {
 public:
  virtual ~TierNetwork() = default;
  /// Of what comes with a task in place of one sample; 0: it is about samples.
  virtual Bytes value_bytes() const { return 0; }
  /// samples: of the task, with labels; without images where values come in their place. errors: those of computing, of
  /// reading values.
  virtual Result<TierAnswer> answer(const Command& task, const data::Batch& samples) = 0;
  /// Floating-point operations of the matrix products of the last answer.
  virtual double flops() const = 0;
};

/// A network of that tier of the job, by its position; where one with early exits lies over the tiers, the part of it
/// that gives such answers. errors: those of parse_privacy, Replica::create and EarlyExit::create.
Result<std::unique_ptr<TierNetwork>> make_tier_network(const Graph& graph, const InferJob& job, std::size_t part,
                                                       Answer answer, const CompiledStageOptions& options);

}  // namespace mangrove::infer
