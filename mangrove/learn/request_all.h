#pragma once

#include <cstdint>
#include <span>

#include "mangrove/data/loader.h"

namespace mangrove::learn {

/// Asks the loader for these samples, in batches of `batch`; the last one may be smaller.
void request_all(data::Loader& loader, std::span<const std::uint32_t> samples, std::int64_t batch);

}  // namespace mangrove::learn
