#include "mangrove/data/image.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "mangrove/base/check.h"
#include "mangrove/data/file_bytes.h"
#include "mangrove/data/image_formats.h"

namespace mangrove::data {
namespace {

struct Format {
  std::string_view magic;  // the first bytes of a file
  Result<Image> (*decode)(std::span<const std::uint8_t> bytes);
};
constexpr Format kFormats[] = {
    {"\xFF\xD8\xFF", &decode_jpeg},
    {"\x89PNG\r\n\x1A\n", &decode_png},
    {"P5", &decode_pnm},
    {"P6", &decode_pnm},
    {"P2", &decode_pnm},
    {"P3", &decode_pnm},
};
constexpr std::string_view kSuffixes[] = {".jpg", ".jpeg", ".png", ".ppm", ".pgm"};

}  // namespace

bool has_suffix(const fs::path& path, std::span<const std::string_view> suffixes) {
  std::string suffix = path.extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(suffixes, suffix) != suffixes.end();
}

bool has_image_name(const fs::path& path) {
  return has_suffix(path, kSuffixes);
}

Result<Image> make_image(std::int64_t width, std::int64_t height, int channels) {
  if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide || width * height > kMaxImagePixels)
    return make_error(Code::data_loss, "an image of " + std::to_string(width) + " x " + std::to_string(height) +
                                           " pixels: expected 1 to " + std::to_string(kMaxImageSide) +
                                           " on each side and at most " + std::to_string(kMaxImagePixels) + " in all");
  Image image{static_cast<int>(width), static_cast<int>(height), channels, {}};
  image.pixels.resize(static_cast<std::size_t>(width * height * channels));
  return image;
}

Result<Image> decode_image(std::span<const std::uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Format& format : kFormats)
    if (text.starts_with(format.magic)) return format.decode(bytes);
  return make_error(Code::data_loss,
                    bytes.empty() ? "an empty file: expected an image" : "not a JPEG, PNG, PPM or PGM image");
}

Result<Image> load_image(const fs::path& path, const FileOpener& open) {
  MG_TRY(const FileBytes file, open(path));
  MG_TRY(const std::string content, file.all());
  return decode_image(bytes_of(content)).context(path.string());
}

Image to_channels(Image image, int channels) {
  MG_CHECK((channels == 1 || channels == 3) && (image.channels == 1 || image.channels == 3));
  if (image.channels == channels) return image;
  std::vector<std::uint8_t> pixels;
  pixels.reserve(image.pixels.size() / static_cast<std::size_t>(image.channels) * static_cast<std::size_t>(channels));
  if (channels == 3) {
    for (const std::uint8_t grey : image.pixels) pixels.insert(pixels.end(), 3, grey);
  } else {
    // in 16 bits of fraction, as Pillow does
    for (std::size_t i = 0; i < image.pixels.size(); i += 3)
      pixels.push_back(static_cast<std::uint8_t>(
          (image.pixels[i] * 19595u + image.pixels[i + 1] * 38470u + image.pixels[i + 2] * 7471u + 0x8000u) >> 16));
  }
  return {image.width, image.height, channels, std::move(pixels)};
}

Image centre_crop(const Image& image, int width, int height) {
  MG_CHECK(width >= 1 && height >= 1 && width <= image.width && height <= image.height);
  Image part{width, height, image.channels, {}};
  const auto row_bytes = static_cast<std::ptrdiff_t>(width) * image.channels;
  part.pixels.reserve(static_cast<std::size_t>(row_bytes * height));
  const std::ptrdiff_t left = (image.width - width) / 2, top = (image.height - height) / 2;
  for (std::ptrdiff_t y = top; y < top + height; ++y) {
    const auto row = image.pixels.begin() + (y * image.width + left) * image.channels;
    part.pixels.insert(part.pixels.end(), row, row + row_bytes);
  }
  return part;
}

Image resize_and_crop(const Image& image, int width, int height) {
  // the side that is relatively shorter stays whole
  const double scale = std::min(static_cast<double>(image.width) / width, static_cast<double>(image.height) / height);
  const auto part = [scale](int side, int whole) {
    return std::clamp(static_cast<int>(std::lround(side * scale)), 1, whole);
  };
  return resize(centre_crop(image, part(width, image.width), part(height, image.height)), width, height);
}

void to_planar(const Image& image, std::span<float> out) {
  MG_CHECK(out.size() == image.pixels.size());
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t plane = image.pixels.size() / channels;
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < plane; ++i)
      out[c * plane + i] = static_cast<float>(image.pixels[i * channels + c]) / 255.0f;
}

Image from_planar(std::span<const float> planes, int channels, int height, int width) {
  Image image{width, height, channels, std::vector<std::uint8_t>(planes.size())};
  const std::size_t plane = planes.size() / static_cast<std::size_t>(channels);
  for (std::size_t i = 0; i < planes.size(); ++i)
    image.pixels[i % plane * static_cast<std::size_t>(channels) + i / plane] =
        static_cast<std::uint8_t>(std::lround(std::clamp(planes[i], 0.0f, 1.0f) * 255.0f));
  return image;
}

}  // namespace mangrove::data
