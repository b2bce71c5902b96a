#include "mangrove/engine/portable/axis_maps.h"

namespace mangrove::portable {
namespace {

bool is_whole(const std::vector<std::int64_t>& map, std::int64_t size) {
  if (static_cast<std::int64_t>(map.size()) != size) return false;
  for (std::int64_t i = 0; i < size; ++i) {
    if (map[static_cast<std::size_t>(i)] != i) return false;
  }
  return true;
}

}  // namespace

AxisMaps::AxisMaps(const Shape& data, const std::vector<std::vector<std::int64_t>>& maps)
    : data_elements_(data.elements()) {
  std::size_t inner = data.rank();  // dimensions [inner, rank) are copied whole
  while (inner > 0 && is_whole(maps[inner - 1], data[inner - 1])) --inner;
  const std::int64_t block = data.elements(inner, data.rank());
  if (inner == 0) {
    if (block > 0) runs_.push_back({0, 0, block});
    return;
  }
  const std::vector<std::int64_t>& last = maps[inner - 1];
  for (std::size_t i = 0; i < last.size(); ++i) {
    const std::int64_t to = static_cast<std::int64_t>(i) * block, from = last[i] == kNone ? kNone : last[i] * block;
    const bool goes_on = !runs_.empty() &&
                         (from == kNone ? runs_.back().from == kNone
                                        : runs_.back().from != kNone && runs_.back().from + runs_.back().count == from);
    if (goes_on) {
      runs_.back().count += block;
    } else {
      runs_.push_back({to, from, block});
    }
  }
  std::int64_t pitch = static_cast<std::int64_t>(last.size()) * block, stride = data.elements(inner - 1, data.rank());
  for (std::size_t k = inner - 1; k-- > 0;) {
    Outer outer{{}, pitch};
    for (const std::int64_t index : maps[k]) outer.from.push_back(index == kNone ? kNone : index * stride);
    pitch *= static_cast<std::int64_t>(maps[k].size());
    stride *= data[k];
    outer_.insert(outer_.begin(), std::move(outer));
  }
  if (outer_.empty()) return;
  std::vector<std::int64_t> picked = outer_[0].from;
  std::erase(picked, kNone);
  std::sort(picked.begin(), picked.end());
  picks_each_once_ = std::adjacent_find(picked.begin(), picked.end()) == picked.end();
}

}  // namespace mangrove::portable
