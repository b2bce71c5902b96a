#pragma once

#include "mangrove/graph/graph.h"
#include "mangrove/plan/graph_layers.h"
#include "mangrove/plan/profile.h"

namespace mangrove::plan {

/// Name, kind, FLOPs and bytes of each node of a graph, by the operator table's cost rules; no times.
std::vector<OperatorProfile> operators_of(const Graph& graph, std::int64_t batch);

/// Times on the device of a profile.
struct OperatorTimes {
  std::vector<Seconds> seconds;  // one for each node of the graph
  std::size_t predicted = 0;     // operators that the profile lacks; its CostModel gives their times
};

/// Uses the measured time if the profile has an operator of this name, kind and size (FLOPs and bytes). If the size
/// differs, because the micro-batch or the network does, the measured time is multiplied by the ratio that the
/// CostModel predicts for the two sizes. errors: invalid_argument (training, and the profile is of inference).
Result<OperatorTimes> operator_times(const Graph& graph, std::int64_t batch, const Profile& profile, bool training);

}  // namespace mangrove::plan
