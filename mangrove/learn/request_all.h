#pragma once

#include <cstdint>
#include <span>

#include "mangrove/data/loader.h"

namespace mangrove::learn {

/// Asks the loader for these samples of an epoch, in batches of `batch`; the last one may be smaller.
void request_all(data::Loader& loader, std::span<const std::uint32_t> samples, std::int64_t batch,
                 std::uint64_t epoch = 0);

}  // namespace mangrove::learn
