#include <png.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "mangrove/base/check.h"
#include "mangrove/data/image_formats.h"

namespace mangrove::data {
namespace {

/// One decoding. libpng reports errors by longjmp, so everything with a destructor lives in here, outside of the frames
/// that are jumped over.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &on_error, &on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Result<Image> read() {
    if (info_ == nullptr) return make_error(Code::resource_exhausted, "PNG: no memory to decode with");
    if (!guarded(&Reader::read_header)) return make_error(Code::data_loss, "PNG: " + message_);
    MG_TRY(image_, make_image(width_, height_, channels_));
    const std::size_t row_bytes = image_.pixels.size() / static_cast<std::size_t>(height_);
    for (std::size_t y = 0; y < static_cast<std::size_t>(height_); ++y)
      rows_.push_back(image_.pixels.data() + y * row_bytes);
    if (!guarded(&Reader::read_pixels)) return make_error(Code::data_loss, "PNG: " + message_);
    return std::move(image_);
  }

 private:
  /// False: libpng gave up, message_ says why. No locals with destructors in here or in `step`.
  bool guarded(void (Reader::*step)()) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    (this->*step)();
    return true;
  }
  void read_header() {
    png_set_read_fn(png_, this, &take);
    png_set_user_limits(png_, kMaxImageSide, kMaxImageSide);
    png_set_chunk_malloc_max(png_, 16u << 20);
    png_read_info(png_, info_);
    png_set_expand(png_);  // palettes, fewer than 8 bits
    png_set_scale_16(png_);
    png_set_strip_alpha(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    width_ = png_get_image_width(png_, info_);
    height_ = png_get_image_height(png_, info_);
    channels_ = png_get_channels(png_, info_);
  }
  void read_pixels() {
    png_read_image(png_, rows_.data());
    png_read_end(png_, nullptr);
  }

  static void take(png_structp png, png_bytep out, std::size_t count) {
    auto& self = *static_cast<Reader*>(png_get_io_ptr(png));
    if (count > self.rest_.size()) png_error(png, "truncated");
    std::memcpy(out, self.rest_.data(), count);
    self.rest_ = self.rest_.subspan(count);
  }
  [[noreturn]] static void on_error(png_structp png, png_const_charp text) {
    static_cast<Reader*>(png_get_error_ptr(png))->message_ = text;
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}  // of optional chunks, not of pixels

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::span<const std::uint8_t> rest_;
  std::int64_t width_ = 0, height_ = 0;
  int channels_ = 0;
  Image image_;
  std::vector<png_bytep> rows_;
  std::string message_;
};

}  // namespace

Result<Image> decode_png(std::span<const std::uint8_t> bytes) {
  return Reader(bytes).read();
}

std::string encode_png(const Image& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string file(bytes, '\0');
  MG_CHECK_MSG(png_image_write_to_memory(&header, file.data(), &bytes, 0, image.pixels.data(), 0, nullptr) != 0,
               header.message);
  file.resize(bytes);
  return file;
}

}  // namespace mangrove::data
