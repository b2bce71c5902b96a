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

/// Positions before an operator where a network can be cut into stages, ascending: all values that cross can travel,
/// and no parameter is used on both sides.
std::vector<std::size_t> cut_positions(const Graph& graph);
/// The most stages that a network can be cut into, at least 1.
std::size_t most_stages(const Graph& graph);

/// Seconds of each operator, forward and backward, for so many samples: by the operator table's counts, as on a device
/// of 10 GFLOP/s and 5 GB/s.
std::vector<double> computed_costs(const Graph& graph, std::int64_t samples);

/// The stages behind these nodes. errors: not_found (a node), invalid_argument (it cannot be cut there, or they are not
/// in order); names the node.
Result<std::vector<StageRange>> cut_behind(const Graph& graph, std::span<const std::string> nodes);

/// That the job's stages can be had, with so many nodes. errors: those of cut_behind; invalid_argument (names the key).
Status check_stages(const TrainJob& job, const CutRule& rule, const Graph& graph, std::size_t nodes);

/// Of a stage: elements of its parameters, and of its running statistics. Those of all stages, in order, are those of
/// the whole graph.
struct StageSizes {
  std::size_t parameters = 0, states = 0;
};
Result<StageSizes> stage_sizes(const Graph& graph, const StageRange& range);

/// Bytes of the values that a micro-batch of so many samples brings to a stage and leaves it with.
Bytes crossing_bytes(const Graph& graph, const StageRange& range, std::int64_t samples);

}  // namespace mangrove::train
