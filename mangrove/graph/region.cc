#include "mangrove/graph/region.h"

namespace mangrove {

bool cover(std::span<const Region> regions, const Region& plane) {
  std::int64_t area = 0;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].is_empty() || !plane.contains(regions[i])) return false;
    for (std::size_t other = 0; other < i; ++other)
      if (!regions[i].intersection(regions[other]).is_empty()) return false;
    area += regions[i].area();
  }
  return area == plane.area();
}

}  // namespace mangrove
