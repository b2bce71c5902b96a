#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mangrove/base/result.h"

namespace mangrove::data {

/// Unpacks a gzip stream of one member. Stops without an error once `limit` bytes are unpacked, so a hostile stream
/// costs no more memory than its reader asked for; a result shorter than `limit` is the whole content, and its CRC-32
/// was right. errors: data_loss (not gzip, corrupt, truncated, or followed by other bytes).
Result<std::string> gunzip(std::span<const std::uint8_t> compressed, std::size_t limit);

}  // namespace mangrove::data
