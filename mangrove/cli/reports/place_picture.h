#pragma once

#include <vector>

#include "mangrove/cli/reports/drawing.h"
#include "mangrove/cli/reports/place_report.h"

namespace mangrove::cli {

/// The devices that are used, zone by zone, each with its tasks and how busy it is.
std::vector<Drawing> place_drawings(const PlaceReport& report);

}  // namespace mangrove::cli
