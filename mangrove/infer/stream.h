#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/nodes.h"
#include "mangrove/infer/stage_plan.h"

namespace mangrove::infer {

/// What a stage did for the micro-batches that were answered since the last plan.
struct StageRecord {
  Seconds busy = 0;
  std::int64_t sent_bytes = 0;  // to another node
  std::int64_t queued = 0;      // micro-batches that waited for it, summed over those when it began with one
  std::int64_t most_queued = 0;
};

/// What came out of the pipeline.
struct StreamResult {
  std::vector<std::int32_t> predictions;  // per sample
  std::vector<std::int32_t> deliveries;   // per sample: how often an answer was written to `predictions`
  std::int64_t repeated = 0;              // answers to micro-batches that had one, which were not written
  Seconds seconds = 0;                    // from the first micro-batch sent to the last one answered
  std::vector<Seconds> latencies;         // of each micro-batch: from when it was first sent to its answer, ascending
  // Since the last plan: where no board was lost for which there was no spare one, the only one.
  StagePlan plan;  // with the ranks that held the stages at the end
  std::vector<StageRecord> stages;
  std::int64_t micro_batches = 0;  // answered
  Seconds planned_seconds = 0;
};

/// A plan for these ranks.
using Replan = std::function<Result<StagePlan>(const net::RankSet&)>;

/// Places the stages and streams the whole data set through them. When a node is lost, a spare one gets its stages; if
/// there is none, a new plan is made for those that are left. Every micro-batch without an answer is sent again.
/// errors: those of Nodes::next and `replan`; unavailable (nothing has come out for ten timeouts).
Result<StreamResult> stream_through(const InferJob& job, net::RoleContext& context, Nodes& nodes, Reports& reports,
                                    const Hello& data, StagePlan plan, const Replan& replan);

}  // namespace mangrove::infer
