#pragma once

#include <string>
#include <vector>

#include "mangrove/cli/reports/drawing.h"
#include "mangrove/cli/reports/plan_report.h"
#include "mangrove/infer/pipeline/report.h"
#include "mangrove/train/result.h"

namespace mangrove::cli {

/// A network over devices: a box for each stage with its devices and layers, what is measured beside what was
/// predicted, and what travels between them; below, the same as a table. "" where there are no stages.
std::string stage_picture(const std::vector<train::TrainedStage>& stages);
std::string stage_picture(const std::vector<infer::StageReport>& stages);
std::string stage_picture(const std::vector<PlanFigures::Stage>& stages);

/// The boxes alone.
Drawing stage_drawing(const std::vector<PlanFigures::Stage>& stages);

}  // namespace mangrove::cli
