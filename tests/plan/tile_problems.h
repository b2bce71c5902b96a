#pragma once

#include <string>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/plan/tiles.h"

namespace mangrove::testing {

/// Convolutions 3 x 3 of one channel, called "a", "b", ..., on a plane, and a dense layer with 10 outputs.
/// pool_behind: the number of convolutions before a max-pooling; 0: none.
Graph small_convolutions(std::size_t convolutions, std::int64_t plane, std::size_t pool_behind = 0);

/// A model of the zoo for images of 3 channels.
Graph model(const std::string& name, std::int64_t plane = 224);

/// A device whose operators take as long as their FLOPs say.
plan::TileDevice device_with(const Graph& graph, double flops_a_second);
/// With a link, and what messages cost a small board.
plan::TileDevice board(const Graph& graph, double flops_a_second, BytesPerSecond rate);

/// Devices whose speeds, links and handling differ, so that everything matters.
std::vector<plan::TileDevice> random_boards(const Graph& graph, std::size_t count, Random& random);

/// The time of the whole network on the fastest device.
Seconds best_single(const plan::TileProblem& problem);

}  // namespace mangrove::testing
