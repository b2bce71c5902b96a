#include "mangrove/learn/request_all.h"

#include <algorithm>
#include <cstddef>

namespace mangrove::learn {

void request_all(data::Loader& loader, std::span<const std::uint32_t> samples, std::int64_t batch,
                 std::uint64_t epoch) {
  while (!samples.empty()) {
    const auto part = samples.first(std::min(static_cast<std::size_t>(batch), samples.size()));
    loader.request({part.begin(), part.end()}, epoch);
    samples = samples.subspan(part.size());
  }
}

}  // namespace mangrove::learn
