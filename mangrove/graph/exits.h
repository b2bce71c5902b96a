#pragma once

#include <cstddef>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove {

/// A network with early exits is a graph of several outputs that are alike, f32 [N, classes]: the logits of each exit,
/// in order of depth; the last is what the whole network says. Nothing else marks them, so that an ONNX file keeps
/// them. source: Teerapittayanon, McDanel & Kung, BranchyNet: fast inference via early exiting from deep neural
/// networks, ICPR 2016.
bool has_early_exits(const Graph& graph);

/// Where the metadata of such a network say at which normalised entropies samples leave, see exits/early_exit.h. They
/// belong to its weights: who changes these removes them.
constexpr const char* kExitThresholdsKey = "mangrove.exit_thresholds";
/// And which shares of all samples leave there, where these are to be kept while inputs drift: exits/keeper.h.
constexpr const char* kExitSharesKey = "mangrove.exit_shares";

/// Position among the outputs of the one that classifies: of a network with early exits the last, else the first.
std::size_t answering_output(const Graph& graph);

/// What computes the last output alone: the network without the branches to its early exits.
Graph without_early_exits(const Graph& graph);

/// A network's operators in the order of its exits: first those that the first exit needs, then those that the second
/// needs besides, and so on. Operators that no exit needs are left out.
struct ExitSegments {
  Graph graph;                    // in this order
  std::vector<std::size_t> ends;  // of each segment, one past its last operator

  std::size_t begin(std::size_t exit) const { return exit == 0 ? 0 : ends[exit - 1]; }
};
/// errors: invalid_argument (an exit that needs no operator beyond those of the exits before it: names it).
Result<ExitSegments> exit_segments(const Graph& graph);

}  // namespace mangrove
