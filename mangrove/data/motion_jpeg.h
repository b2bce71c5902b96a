#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::data {

/// The frames of a Motion-JPEG clip, each a JPEG that points into `file`: those of the first video stream of an AVI
/// file (RIFF, with the parts of OpenDML), or JPEGs one behind the other. At least one. errors: data_loss (neither of
/// these, truncated, a chunk that does not lie in the file, no frames), unimplemented (an AVI file whose frames are not
/// JPEGs).
Result<std::vector<std::span<const std::uint8_t>>> find_frames(std::span<const std::uint8_t> file);

/// The length of the JPEG that a stream begins with, of which these bytes are here. Nothing: more are needed to tell.
/// errors: data_loss (no JPEG, or corrupt).
Result<std::optional<std::size_t>> first_jpeg(std::span<const std::uint8_t> bytes);

}  // namespace mangrove::data
