#pragma once

#include "mangrove/data/image.h"

namespace mangrove::data {

// One decoder per format, for decode_image; errors as there.
Result<Image> decode_jpeg(std::span<const std::uint8_t> bytes);
Result<Image> decode_png(std::span<const std::uint8_t> bytes);
Result<Image> decode_pnm(std::span<const std::uint8_t> bytes);

/// An image without pixels yet, all zero. errors: data_loss (a size that is not positive, or beyond the limits).
Result<Image> make_image(std::int64_t width, std::int64_t height, int channels);

}  // namespace mangrove::data
