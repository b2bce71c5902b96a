#include "mangrove/infer/tiles/tiles.h"

#include <memory>
#include <utility>

#include "mangrove/graph/onnx.h"
#include "mangrove/infer/leader.h"
#include "mangrove/infer/pipeline/dataset_work.h"
#include "mangrove/infer/pipeline/frame_listener.h"
#include "mangrove/infer/pipeline/frame_work.h"
#include "mangrove/infer/pipeline/measured_network.h"
#include "mangrove/infer/pipeline/result.h"
#include "mangrove/infer/pipeline/worker.h"
#include "mangrove/infer/rows.h"
#include "mangrove/infer/tiles/objective.h"
#include "mangrove/infer/tiles/result.h"
#include "mangrove/infer/tiles/tile_stream.h"
#include "mangrove/infer/tiles/worker.h"
#include "mangrove/plan/tile_partitioner.h"

namespace mangrove::infer {
namespace {

Result<MeasuredNetwork> measure(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports) {
  MG_RETURN_IF_ERROR(check_objective(job));
  if (const auto tiling = plan::find_tile_partitioner(job.tiling()); !tiling.ok()) return tiling.error();
  MG_TRY(Graph graph, parse_onnx(job.model()).context("model"));
  return measure_network(job, std::move(graph), context, nodes, reports);
}

void report_result(const InferJob& job, const NodeRoster& nodes, Reports& reports, const MeasuredNetwork& measured,
                   const Baseline* baseline, const TileStreamResult& streamed, TilesResult result) {
  set_tiles(job, measured.graph, measured.devices, baseline, streamed, reports, result);
  result.all.model_bytes = nodes.model_bytes();
  reports.result(std::move(result));
}

Status lead_dataset(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports) {
  MG_TRY(MeasuredNetwork measured, measure(job, context, nodes, reports));
  MG_TRY(const std::optional<Baseline> baseline, find_baseline(job, context, nodes, reports, measured));
  const Baseline* const compared = baseline ? &*baseline : nullptr;
  TilePlanner planner(measured.graph, measured.devices, job);
  MG_TRY(const net::RankSet ranks, nodes.wait_usable());
  MG_TRY(TileTeams teams, planner.plan(ranks));
  DatasetWork work(job, measured.data, tile_window(job, teams), reports);
  MG_TRY(const TileStreamResult streamed,
         stream_through_tiles(job, context, nodes, reports, work, std::move(teams), planner));
  TilesResult result;
  set_figures(job, measured.data, compared, work.answers(), streamed.seconds, result);
  report_result(job, nodes, reports, measured, compared, streamed, std::move(result));
  return {};
}

/// There is nothing to compare frames with: no truth, and no second pass over them.
Status lead_frames(const InferJob& job, job::RoleContext& context, NodeRoster& nodes, Reports& reports) {
  MG_TRY(const MeasuredNetwork measured, measure(job, context, nodes, reports));
  TilePlanner planner(measured.graph, measured.devices, job);
  MG_TRY(const net::RankSet ranks, nodes.wait_usable());
  MG_TRY(TileTeams teams, planner.plan(ranks));
  const FrameListener listener(context);
  FrameWork work(job, *context.frames, {measured.data.classes().begin(), measured.data.classes().end()},
                 tile_window(job, teams), reports);
  MG_TRY(const TileStreamResult streamed,
         stream_through_tiles(job, context, nodes, reports, work, std::move(teams), planner));
  TilesResult result;
  set_figures(job, work.counts(), streamed.seconds, result);
  report_result(job, nodes, reports, measured, nullptr, streamed, std::move(result));
  return {};
}

}  // namespace

Status run_tiles(const InferJob& job, job::RoleContext& context) {
  if (context.endpoint.rank() != 0) {
    return run_node(job, context,
                    [](StreamPartOptions options) { return std::make_unique<TileWorker>(std::move(options)); });
  }
  if (job.frames() && context.frames == nullptr)
    return make_error(Code::invalid_argument, "input: nobody pushes frames to this job");
  return lead_nodes(job, context, [&](NodeRoster& nodes, Reports& reports) {
    return job.frames() ? lead_frames(job, context, nodes, reports) : lead_dataset(job, context, nodes, reports);
  });
}

Strategy rows::tiles() {
  return {{.name = "tiles",
           .summary = "the maps of the network in tiles on different nodes, which compute one image together (Zhao, "
                      "Barijough & Gerstlauer, DeepThings, IEEE TCAD 2018)",
           .on_loss = "the tiles are placed anew on the other nodes; micro-batches without an answer are sent again"},
          {.takes_requests = true},
          &run_tiles};
}

}  // namespace mangrove::infer
