#pragma once

#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/pipeline/baseline.h"
#include "mangrove/infer/pipeline/device_profile.h"
#include "mangrove/infer/reports.h"
#include "mangrove/infer/tiles/report.h"
#include "mangrove/infer/tiles/tile_stream.h"

namespace mangrove::infer {

/// Adds what tiles report whatever streams through them. result: its figures are set. baseline: as there.
void set_tiles(const InferJob& job, const Graph& graph, const std::vector<DeviceProfile>& devices,
               const Baseline* baseline, const TileStreamResult& streamed, const Reports& reports, TilesResult& result);

}  // namespace mangrove::infer
