#include <bit>
#include <cstring>

#include "mangrove/codec/codecs/rows.h"

namespace mangrove::codec {
namespace {

static_assert(std::endian::native == std::endian::little, "messages are little-endian");

class None : public Codec {
 public:
  std::string encode(std::span<const float> values) override {
    return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
  }

  Status decode(std::string_view message, std::span<float> values) override {
    MG_RETURN_IF_ERROR(check_size(message, values.size_bytes()));
    if (!values.empty()) std::memcpy(values.data(), message.data(), message.size());
    return {};
  }
};

}  // namespace

CodecRow rows::none() {
  return {.name = "none",
          .summary = "float32 as it is",
          .parameters = {},
          .is_unbiased = true,
          .is_contraction = true,
          .make = [](std::span<const double>, const Stream&) -> std::unique_ptr<Codec> {
            return std::make_unique<None>();
          }};
}

}  // namespace mangrove::codec
