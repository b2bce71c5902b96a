#include <cstddef>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/place/placement_milp.h"

namespace mangrove::place {

std::size_t PlacementMilp::set_prices(const Goods& goods, const std::vector<double>& prices) {
  MG_CHECK(prices.size() == goods.count());
  Sum sum;
  for (std::size_t p = 0; p < spots_.size(); ++p)
    for (const Spot& spot : spots_[p])
      if (!is_outside(spot.device))
        sum.add(spot.column, prices[goods.taken(p)] + prices[goods.seconds(p)] * problem_.time(p, spot.device));
  for (std::size_t f = 0; f < ways_.size(); ++f) {
    const double bytes = problem_.flows()[f].bytes;
    if (const double price = prices[goods.way(f)]; price != 0) sum.add(time_of_way(f, bytes, false), price);
    if (const double price = prices[goods.worst_way(f)]; price != 0) sum.add(time_of_way(f, bytes, true), price);
  }
  for (std::size_t l = 0; l < licensed_.size(); ++l) sum.add(licensed_[l], prices[goods.licensed(l)]);
  for (std::size_t m = 0; m < Goods::kMeasures.size(); ++m)
    for (const MeasureRow& row : measures())
      if (row.value == Goods::kMeasures[m] && prices[goods.measure(m)] != 0)
        sum.add(measure(row), prices[goods.measure(m)]);
  const std::size_t level = objective_.levels.size();
  levels_.resize(level + 1);
  levels_[level] = std::move(sum);
  return level;
}

}  // namespace mangrove::place
