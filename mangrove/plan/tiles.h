#pragma once

#include <cstddef>
#include <vector>

#include "mangrove/plan/tile_plan.h"
#include "mangrove/plan/tile_problem.h"

namespace mangrove::plan {

/// The predicted figures of a plan, whose source and blocks are given. errors: invalid_argument (the blocks are no
/// plan: operators missing or twice, tiles that do not cover a plane or overlap, a device twice in a block, an operator
/// that cannot be tiled; what check says); resource_exhausted (a device's memory is too small: says how much it needs).
Result<TilePlan> price_tiles(const TileProblem& problem, std::size_t source, std::vector<TileBlock> blocks);

/// The teams, of which each takes micro-batches in turn with the others: for the latency one team, the fastest to
/// answer; for the throughput those that together answer most micro-batches a second, the fastest first. A team may be
/// one device with the whole network, so no answer is slower than the best single device's. The search does not try
/// everything: a better plan may exist.
/// errors: those of check; resource_exhausted (the network fits on no team that was tried: says the least memory of
/// each device with a limit that would do). cost: with 6 devices 0.1 to 0.5 s for networks of 70 to 150 operators, with
/// 12 devices 0.5 to 5 s. source: Zhao et al., DeepThings, IEEE TCAD 2018; Mao et al., MoDNN, DATE 2017.
Result<std::vector<TilePlan>> plan_tiles(const TileProblem& problem);

// Plans that others make, to compare with. All devices take part, the first is the source, and what cannot be tiled is
// computed there. errors: those of price_tiles; invalid_argument (the first operators cannot be tiled).

/// One block of `last` operators (the next place where a segment ends) in a grid of equal tiles, as many as devices,
/// with as equal numbers of rows and columns as can be. source: DeepThings.
Result<TilePlan> even_grid(const TileProblem& problem, std::size_t last);
/// One block for each segment: strips of rows, as high as the device is fast; none for a device that would get less
/// than half of a row. source: MoDNN.
Result<TilePlan> biased_strips(const TileProblem& problem);

}  // namespace mangrove::plan
