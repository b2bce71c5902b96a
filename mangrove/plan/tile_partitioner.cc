#include "mangrove/plan/tile_partitioner.h"

#include <array>
#include <optional>
#include <string>

#include "mangrove/base/table.h"
#include "mangrove/graph/tile.h"

namespace mangrove::plan {
namespace {

using Teams = Result<std::vector<TilePlan>>;

Teams one_team(Result<TilePlan> plan) {
  MG_TRY(TilePlan team, std::move(plan));
  return std::vector<TilePlan>{std::move(team)};
}

/// DeepThings leaves it to the user how many operators are fused: the number that is best for the objective.
Teams plan_even_grid(const TileProblem& problem) {
  const auto score = problem.objective == Objective::throughput ? &TilePlan::period : &TilePlan::latency;
  std::optional<TilePlan> best;
  std::optional<Error> why_not;  // of the first number
  const Tiling tiling(problem.graph);
  for (const TileSegment& segment : tiling.segments()) {
    if (!segment.can_be_tiled) break;
    Result<TilePlan> plan = even_grid(problem, segment.last);
    if (!plan.ok() && !why_not) why_not = plan.error();
    if (plan.ok() && (!best || (*plan).*score < (*best).*score)) best = std::move(*plan);
  }
  if (best) return one_team(std::move(*best));
  if (why_not) return *why_not;
  return make_error(Code::invalid_argument, "tiling: the first operators of the network cannot be divided into tiles");
}

Teams plan_biased_strips(const TileProblem& problem) {
  return one_team(biased_strips(problem));
}

constexpr std::array kPartitioners = {
    TilePartitioner{.name = "auto", .summary = "as is fastest by the measurements", .plan = &plan_tiles},
    TilePartitioner{
        .name = "even_grid",
        .summary = "equal tiles of one block, as in DeepThings (Zhao, Barijough & Gerstlauer, IEEE TCAD 2018)",
        .plan = &plan_even_grid},
    TilePartitioner{.name = "biased_strips",
                    .summary = "strips of rows, exchanged behind each operator, as in MoDNN (Mao et al., DATE 2017)",
                    .plan = &plan_biased_strips},
};

}  // namespace

std::span<const TilePartitioner> tile_partitioners() {
  return kPartitioners;
}

Result<const TilePartitioner*> find_tile_partitioner(std::string_view name) {
  return find_row(tile_partitioners(), name, "tiling: unknown way to divide a network into tiles", Code::not_found);
}

}  // namespace mangrove::plan
