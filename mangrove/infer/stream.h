#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/nodes.h"
#include "mangrove/infer/placement.h"
#include "mangrove/infer/stage_plan.h"

namespace mangrove::infer {

/// What came out of the pipeline.
struct StreamResult {
  std::vector<std::int32_t> predictions;  // per sample
  std::vector<std::int32_t> deliveries;   // per sample: how often an answer was written to `predictions`
  std::int64_t repeated = 0;              // answers to micro-batches that had one, which were not written
  Placement placement;                    // at the end
  std::vector<Seconds> stage_seconds;     // busy, for the answers written
  std::vector<std::int64_t> stage_sent;   // bytes to another node, likewise
  Seconds seconds = 0;                    // from the first micro-batch sent to the last one answered
};

/// Places the stages and streams the whole data set through them, moving stages when nodes are lost.
/// errors: those of Nodes::next; unavailable (nothing has come out for ten timeouts).
Result<StreamResult> stream_through(const InferJob& job, net::RoleContext& context, Nodes& nodes, Reports& reports,
                                    const Hello& data, const StagePlan& plan, const Placement& placement);

}  // namespace mangrove::infer
