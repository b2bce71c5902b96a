#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/node_roster.h"
#include "mangrove/infer/pipeline/replanner.h"
#include "mangrove/infer/pipeline/stage_plan.h"
#include "mangrove/infer/pipeline/stream_work.h"

namespace mangrove::infer {

/// What one replica of a stage did for the micro-batches that were answered since the last plan.
struct StageRecord {
  std::int64_t micro_batches = 0;
  Seconds busy = 0;
  std::int64_t sent_bytes = 0;  // to another node
  std::int64_t queued = 0;      // micro-batches that waited for it, summed over those when it began with one
  std::int64_t most_queued = 0;
  Bytes resident = 0;  // the most memory of its process
};

/// How a pipeline did.
struct StreamResult {
  std::int64_t repeated = 0;  // answers to micro-batches that had one, which were not written
  Seconds seconds = 0;        // from the first micro-batch sent to the last one answered
  // Since the last plan: where no board was lost for which there was no spare one, the only one.
  StagePlan plan;                                                    // with the ranks that held the stages at the end
  std::map<std::pair<std::size_t, net::Rank>, StageRecord> records;  // by stage and rank
  Seconds planned_seconds = 0;
};

/// Places the stages and streams all of the work through them. When a node is lost, a spare one gets its stages; if
/// there is none, a new plan is made for those that are left; and so it is where that is worth it because boards or
/// links have become slower or faster. Every micro-batch without an answer is sent again then. errors: those of
/// NodeRoster::next and Replanner::plan; unavailable (nothing has come out for ten timeouts).
Result<StreamResult> stream_through(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports,
                                    StreamWork& work, StagePlan plan, Replanner& replanner);

}  // namespace mangrove::infer
