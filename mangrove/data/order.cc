#include "mangrove/base/check.h"
#include "mangrove/base/random.h"
#include "mangrove/data/loader.h"

namespace mangrove::data {

std::vector<std::uint32_t> epoch_order(std::uint32_t n, std::uint64_t seed, std::uint64_t epoch) {
  return Random(seed).fork(epoch).permutation(n);
}

std::pair<std::uint32_t, std::uint32_t> shard(std::uint32_t n, std::uint32_t index, std::uint32_t parts) {
  MG_CHECK(index < parts);
  // 64 bits: n * parts overflows 32
  const auto boundary = [&](std::uint64_t i) { return static_cast<std::uint32_t>(n * i / parts); };
  return {boundary(index), boundary(std::uint64_t{index} + 1)};
}

}  // namespace mangrove::data
