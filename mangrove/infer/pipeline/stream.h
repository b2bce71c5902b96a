#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/node_roster.h"
#include "mangrove/infer/pipeline/replanner.h"
#include "mangrove/infer/pipeline/spot_checks.h"
#include "mangrove/infer/pipeline/stage_plan.h"
#include "mangrove/infer/pipeline/stream_work.h"

namespace mangrove::infer {

/// The work of one replica of a stage for the micro-batches that were answered since the last plan.
struct StageRecord {
  std::int64_t micro_batches = 0;
  Seconds busy = 0;
  std::int64_t sent_bytes = 0;  // bytes sent to other nodes
  std::int64_t queued = 0;      // waiting micro-batches, summed over the times when it began with one
  std::int64_t most_queued = 0;
  Bytes resident = 0;  // the most memory of its process
};

/// The result of a pipeline's run.
struct StreamResult {
  std::int64_t repeated = 0;  // further answers to answered micro-batches, which were ignored
  std::int64_t redone = 0;    // micro-batches that devices in quarantine had answered, and that were sent again
  std::int64_t in_doubt = 0;  // such whose answers had been told already
  Seconds seconds = 0;        // from the first micro-batch sent to the last one answered
  // Figures since the last plan. There is only one plan if no board was lost without a spare one for its stages.
  StagePlan plan;                                                    // with the ranks that had the stages at the end
  std::map<std::pair<std::size_t, net::Rank>, StageRecord> records;  // by stage and rank
  Seconds planned_seconds = 0;
};

/// Places the stages and streams all of the work through them. When a node is lost, a spare node gets its stages. If
/// there is no spare node, a new plan is made for the remaining ones. A new plan is also made if boards or links have
/// become slower or faster and the change pays. In each case, every micro-batch without an answer is sent again.
/// A replica that is mute (see Routes) is left out, and so are nodes that are not ready with their stages for ten
/// timeouts while others are.
/// checks: null, or finds nodes that answer wrongly. Such a node is left out, as if it were lost, and its answers that
/// nobody has confirmed are forgotten; those micro-batches are sent again. If it is unclear which node of several
/// stages it is, or if nothing can be compared with the answers of a stage, the whole network goes on each of them.
/// errors: those of NodeRoster::next and Replanner::plan;
/// unavailable (no answer has come for ten timeouts; names the nodes of the stages).
Result<StreamResult> stream_through(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports,
                                    StreamWork& work, StagePlan plan, Replanner& replanner,
                                    SpotChecks* checks = nullptr);

}  // namespace mangrove::infer
