#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/data/file_bytes.h"

namespace mangrove::data {

/// An image of 8 bits a channel.
struct Image {
  int width = 0;
  int height = 0;
  int channels = 0;                  // 1 grey, 3 red, green, blue
  std::vector<std::uint8_t> pixels;  // [height, width, channels]

  bool operator==(const Image&) const = default;
};

/// Larger images are refused before memory is taken for them.
constexpr int kMaxImageSide = 65'500;                  // pixels; the most that JPEG has
constexpr std::int64_t kMaxImagePixels = 100'000'000;  // width * height

/// Whether its name ends in one of these, in upper or lower case.
bool has_suffix(const fs::path& path, std::span<const std::string_view> suffixes);
/// Whether a file of this name may hold an image: .jpg, .jpeg, .png, .ppm, .pgm in upper or lower case.
bool has_image_name(const fs::path& path);

/// Decodes a JPEG, PNG, PPM or PGM, told apart by their first bytes. Grey files give 1 channel, all others 3; palettes
/// are looked up, 16 bits become 8, an alpha channel is left out, EXIF orientation is not applied. JPEG is decoded with
/// the accurate integer DCT and smooth chroma upsampling.
/// errors: data_loss (none of these formats, corrupt, truncated, too large), unimplemented (CMYK; 16-bit or plain-text
/// PPM). threads: any.
Result<Image> decode_image(std::span<const std::uint8_t> bytes);
/// The same from a file. errors: also not_found, permission_denied; messages name the path.
Result<Image> load_image(const fs::path& path, const FileOpener& open = &FileBytes::open);

/// Grey from colour by 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601), colour from grey by repetition. channels: 1 or 3.
Image to_channels(Image image, int channels);
/// Bilinear, with the triangle as wide as an output pixel where the image shrinks, so that nothing aliases: bit-equal
/// to Pillow's resize(..., BILINEAR). width, height: 1 to kMaxImageSide.
Image resize(const Image& image, int width, int height);
/// The largest part in the middle with the proportions of width x height, resized to that.
Image resize_and_crop(const Image& image, int width, int height);
/// The middle of an image that is at least as large.
Image centre_crop(const Image& image, int width, int height);

/// [H, W, C] of 0 to 255 -> [C, H, W] of 0 to 1. out: width * height * channels floats.
void to_planar(const Image& image, std::span<float> out);
/// [C, H, W] -> [H, W, C], rounded, and clamped to 0 to 1 before.
Image from_planar(std::span<const float> planes, int channels, int height, int width);

/// A PNG file of an image.
std::string encode_png(const Image& image);

}  // namespace mangrove::data
