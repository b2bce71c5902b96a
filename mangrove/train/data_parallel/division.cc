#include "mangrove/train/data_parallel/division.h"

#include <algorithm>
#include <limits>

namespace mangrove::train {
namespace {

/// Whether this many workers can be a group.
bool is_possible(const LayerPair& pair, std::size_t ways, std::size_t workers) {
  return workers % ways == 0 && ways <= static_cast<std::size_t>(pair.hidden);
}

}  // namespace

double floats_sent(const Graph& graph, const LayerPair& pair, std::size_t ways, std::size_t workers,
                   std::int64_t batch) {
  const auto p = static_cast<double>(workers), g = static_cast<double>(ways);
  const double groups = p / g;
  const auto divided = static_cast<double>(pair.divided_elements);
  const double common = static_cast<double>(graph.parameter_elements()) - divided;
  const double sums = 2 * common * (p - 1) / p + 2 * (divided / g) * (groups - 1) / groups;
  const double to_leader = common / p + divided / g / groups;
  const auto floats =
      static_cast<double>(batch * ((pair.elements_before > 0 ? 2 : 1) * pair.features + 2 * pair.outputs));
  return sums + to_leader + (g - 1) * floats;
}

std::optional<Division> best_division(const Graph& graph, const std::vector<LayerPair>& pairs, std::size_t workers,
                                      std::int64_t batch, std::size_t wanted) {
  std::optional<Division> best;
  double fewest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    std::vector<std::size_t> possible;
    for (std::size_t ways = 1; ways <= (wanted == 0 ? workers : std::min(wanted, workers)); ++ways)
      if (is_possible(pairs[i], ways, workers)) possible.push_back(ways);
    if (wanted > 0) possible = {possible.back()};
    for (const std::size_t ways : possible) {
      const double floats = floats_sent(graph, pairs[i], ways, workers, batch);
      if (floats >= fewest) continue;
      fewest = floats;
      best = {.pair = i, .ways = ways};
    }
  }
  return best;
}

}  // namespace mangrove::train
