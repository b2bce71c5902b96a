#pragma once

#include <string>
#include <vector>

#include "mangrove/cli/reports/drawing.h"
#include "mangrove/cli/reports/tile_plan_report.h"
#include "mangrove/infer/tiles/report.h"

namespace mangrove::cli {

/// A network in tiles over nodes: for each block of operators its plane with the tiles, each in its node's colour;
/// below, the same as a table, with what was measured, if anything was, beside what was predicted. "" where there are
/// no teams.
std::string tile_picture(const std::vector<infer::TileTeamReport>& teams);
std::string tile_picture(const std::vector<TilePlanReport::Team>& teams);

/// The planes alone, of each team below the names of its nodes.
std::vector<Drawing> tile_drawings(const std::vector<TilePlanReport::Team>& teams);

}  // namespace mangrove::cli
