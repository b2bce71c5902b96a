#include "mangrove/codec/partwise.h"

#include <algorithm>

#include "mangrove/base/check.h"

namespace mangrove::codec {

std::vector<std::size_t> parts_of(const Stream& stream, const std::function<std::size_t(const Layer&)>& most) {
  std::vector<std::size_t> sizes;
  for (const Layer& layer : stream.layers) {
    for (auto left = static_cast<std::size_t>(layer.elements()); left > 0; left -= sizes.back())
      sizes.push_back(std::min(left, most(layer)));
  }
  return sizes;
}

std::size_t PartwiseCodec::message_bytes() const {
  std::size_t bytes = 0;
  for (const std::size_t size : part_sizes_) bytes += bytes_of(size);
  return bytes;
}

std::string PartwiseCodec::encode(std::span<const float> values) {
  std::string message(message_bytes(), '\0');
  std::span<char> space(message);
  for (const std::size_t size : part_sizes_) {
    MG_CHECK(size <= values.size());
    encode_part(values.first(size), space.first(bytes_of(size)));
    values = values.subspan(size);
    space = space.subspan(bytes_of(size));
  }
  return message;
}

Status PartwiseCodec::decode(std::string_view message, std::span<float> values) {
  MG_RETURN_IF_ERROR(check_size(message, message_bytes()));
  std::span<const char> left(message);
  for (const std::size_t size : part_sizes_) {
    MG_CHECK(size <= values.size());
    if (!decode_part(left.first(bytes_of(size)), values.first(size))) {
      return make_error(Code::data_loss, "an encoded vector has a scale or a level that is out of range");
    }
    values = values.subspan(size);
    left = left.subspan(bytes_of(size));
  }
  return {};
}

}  // namespace mangrove::codec
