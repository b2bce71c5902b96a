#include <turbojpeg.h>

#include <memory>

#include "mangrove/data/image_formats.h"

namespace mangrove::data {
namespace {

Error reason(tjhandle decoder) {
  return make_error(Code::data_loss, std::string("JPEG: ") + tjGetErrorStr2(decoder));
}

/// The library only warns of what it can go on after. Bytes between segments do no harm and are common; everything
/// else, truncation above all, leaves part of the image grey.
bool is_harmless(tjhandle decoder) {
  return tjGetErrorCode(decoder) == TJERR_WARNING &&
         std::string_view(tjGetErrorStr2(decoder)).find("extraneous bytes before marker") != std::string_view::npos;
}

}  // namespace

Result<Image> decode_jpeg(std::span<const std::uint8_t> bytes) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), &tjDestroy);
  if (!decoder) return make_error(Code::resource_exhausted, "JPEG: no memory to decode with");
  int width = 0, height = 0, subsampling = 0, colours = 0;
  const auto size = static_cast<unsigned long>(bytes.size());
  if (tjDecompressHeader3(decoder.get(), bytes.data(), size, &width, &height, &subsampling, &colours) != 0 &&
      !is_harmless(decoder.get()))
    return reason(decoder.get());
  if (colours == TJCS_CMYK || colours == TJCS_YCCK)
    return make_error(Code::unimplemented, "JPEG in CMYK colours: expected RGB or grey");
  const bool grey = colours == TJCS_GRAY;
  MG_TRY(Image image, make_image(width, height, grey ? 1 : 3));
  // limited scans: a small progressive file can ask for hours of work
  const int status = tjDecompress2(decoder.get(), bytes.data(), size, image.pixels.data(), width, 0, height,
                                   grey ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS);
  if (status != 0 && !is_harmless(decoder.get())) return reason(decoder.get());
  return image;
}

}  // namespace mangrove::data
