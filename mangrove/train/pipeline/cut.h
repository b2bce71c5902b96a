#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/graph/graph.h"
#include "mangrove/train/pipeline/settings.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// Operators [first, last) of a graph.
struct StageRange {
  std::size_t first = 0, last = 0;
  bool operator==(const StageRange&) const = default;
};

/// The positions at which a network can be cut into stages, ascending. A position is the number of the operator behind
/// the cut. All values that cross the cut can travel, and no parameter is used on both sides.
std::vector<std::size_t> cut_positions(const Graph& graph);
/// The most stages that a network can be cut into, at least 1.
std::size_t most_stages(const Graph& graph);

/// Seconds that each operator takes for this number of samples, forward and backward together. They are computed from
/// the counts of the operator table, for a device of 10 GFLOP/s and 5 GB/s.
std::vector<double> computed_costs(const Graph& graph, std::int64_t samples);

/// The stages of a network that is cut behind these nodes. errors: not_found (no such node), invalid_argument (the
/// network cannot be cut there, or the nodes are not in order). The message names the node.
Result<std::vector<StageRange>> cut_behind(const Graph& graph, std::span<const std::string> nodes);

/// Checks that the network can have the stages that the job asks for, on this number of nodes. errors: those of
/// cut_behind; invalid_argument (names the key).
Status check_stages(const TrainJob& job, const CutRule& rule, const Graph& graph, std::size_t nodes);

/// Elements of a stage's parameters and of its running statistics. Those of all stages, in order, are those of the
/// whole graph.
struct StageSizes {
  std::size_t parameters = 0, states = 0;
};
Result<StageSizes> stage_sizes(const Graph& graph, const StageRange& range);

/// Bytes of the values that a micro-batch of this number of samples brings to a stage, and of those that leave it.
Bytes crossing_bytes(const Graph& graph, const StageRange& range, std::int64_t samples);

}  // namespace mangrove::train
