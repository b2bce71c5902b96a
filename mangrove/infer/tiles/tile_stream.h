#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/node_roster.h"
#include "mangrove/infer/pipeline/stream_work.h"
#include "mangrove/infer/tiles/tile_planner.h"

namespace mangrove::infer {

/// What one rank has done in one step (TileTrace) of the micro-batches that were answered since the last placement.
struct TileRecord {
  std::int64_t micro_batches = 0;
  Seconds busy = 0;
  std::int64_t sent_bytes = 0;
  Bytes resident = 0;  // the most memory of its process
};

/// The result of a run.
struct TileStreamResult {
  std::int64_t repeated = 0;  // further answers to answered micro-batches, which were ignored
  Seconds seconds = 0;        // from the first micro-batch sent to the last one answered
  // Figures since the last placement:
  TileTeams teams;
  std::map<std::pair<net::Rank, std::size_t>, TileRecord> records;  // by rank and step
  Seconds placed_seconds = 0;
};

/// The most micro-batches in flight: the job's number, or as many as serve the job's objective.
std::size_t tile_window(const InferJob& job, const TileTeams& teams);

/// Places the tiles, and streams all of the work through the teams. When a node is lost, is silent, or is too late time
/// and again (LateTiles), the tiles are placed anew without it; also when devices have become slower or faster and a
/// change pays. When answers stay away and nobody is to blame, the whole network goes to one node. Each time every
/// micro-batch without an answer is sent again.
/// errors: those of NodeRoster::next and TilePlanner::plan; unavailable (no answer has come for ten timeouts; names the
/// nodes).
Result<TileStreamResult> stream_through_tiles(const InferJob& job, job::RoleContext& context, NodeRoster& nodes,
                                              Reports& reports, StreamWork& work, TileTeams teams,
                                              TilePlanner& planner);

}  // namespace mangrove::infer
