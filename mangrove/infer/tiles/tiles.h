#pragma once

#include "mangrove/base/result.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/job/role.h"

namespace mangrove::infer {

/// Tiled inference: the maps of the network are divided in space among nodes, which compute one image together. So an
/// image is answered sooner than one node can, and no node needs the memory for whole maps.
///
/// Rank 0 leads. The nodes are measured, and one of them gives a baseline, as in pipeline.h. From the measurements rank
/// 0 plans (plan/tiles.h): the network becomes blocks of neighbouring operators, and each block is computed in tiles on
/// several nodes, or whole on one. For the throughput there may be several such teams, which take micro-batches in
/// turn.
///
/// A micro-batch: rank 0 sends the number of its first sample and their count to the team's source, which reads the
/// samples. (Frames are sent as image files.) It sends each tile of the first block the region of the samples that the
/// tile needs: the tile with its halo. Behind each block a node sends the others what they need of its tile for the
/// next block: halos, if tiles lie alike. Within a block nothing is sent: what tiles have in common is computed by
/// each. A global average becomes a sum of the tiles' averages. The node with the last block sends the predicted
/// classes to rank 0.
///
/// window   At most this number of micro-batches are without an answer at any time; for the latency one for each team.
/// right    A tile's values are those of the whole network (graph/tile.h), up to the rounding of other kernels.
/// faults   When a node is lost, the tiles are placed anew on those that are left, and a new generation begins, as in
///          pipeline.h. A micro-batch without an answer is sent again after a timeout, to another team if there is one,
///          and the nodes of its team are asked who holds it up (late_tiles.h): one that is silent or late time and
///          again gets no more tiles. Every sample is answered exactly once.
/// cost     For each sample and block: the halos of all tiles, encoded as the job says, and of the first block all of
///          its input. A message has some tens of bytes besides, for each tile before it.
/// source   Zhao, Barijough & Gerstlauer, DeepThings, IEEE TCAD 2018 (fused tiles); Mao et al., MoDNN, DATE 2017 (tiles
///          by speed); Zeng et al., CoEdge, IEEE/ACM Transactions on Networking 2021 (halos between neighbours).
/// errors   those of the nodes and of plan::plan_tiles; invalid_argument (objective, tiling; the data does not fit).
Status run_tiles(const InferJob& job, job::RoleContext& context);

}  // namespace mangrove::infer
