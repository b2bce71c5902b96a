#include <algorithm>

#include "mangrove/base/check.h"
#include "mangrove/base/random.h"
#include "mangrove/data/loader.h"

namespace mangrove::data {

std::vector<std::uint32_t> epoch_order(std::uint32_t n, std::uint64_t seed, std::uint64_t epoch) {
  return Random(seed).fork(epoch).permutation(n);
}

std::vector<std::uint32_t> run_order(std::span<const std::uint32_t> run_ends, std::uint32_t window, std::uint64_t seed,
                                     std::uint64_t epoch) {
  MG_CHECK(window > 0);
  Random random = Random(seed).fork(epoch);
  std::vector<std::uint32_t> order;
  for (const std::uint32_t run : random.permutation(static_cast<std::uint32_t>(run_ends.size())))
    for (std::uint32_t i = run == 0 ? 0 : run_ends[run - 1]; i < run_ends[run]; ++i) order.push_back(i);
  for (std::size_t first = 0; first < order.size(); first += window)
    random.shuffle(std::span(order).subspan(first, std::min<std::size_t>(window, order.size() - first)));
  return order;
}

std::pair<std::uint32_t, std::uint32_t> shard(std::uint32_t n, std::uint32_t index, std::uint32_t parts) {
  MG_CHECK(index < parts);
  // 64 bits: n * parts overflows 32
  const auto boundary = [&](std::uint64_t i) { return static_cast<std::uint32_t>(n * i / parts); };
  return {boundary(index), boundary(std::uint64_t{index} + 1)};
}

}  // namespace mangrove::data
