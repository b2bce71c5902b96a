#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/codec/codec.h"

namespace mangrove::infer {

/// What values are encoded as between stages: "float32", as they are; "fp16"; "int8", with a scale for every 256.
/// errors: invalid_argument (another name, with the nearest).
Status check_activations(const std::string& name);

/// Bytes that so many values take.
std::int64_t encoded_bytes(const std::string& name, std::int64_t elements);

/// threads: one at a time.
class ActivationCodec {
 public:
  /// name: that check_activations accepts; "" is float32.
  explicit ActivationCodec(const std::string& name);

  void append(std::string& payload, std::span<const float> values);
  /// errors: data_loss (bytes that append does not make of so many values).
  Status decode(std::string_view bytes, std::span<float> values);

 private:
  codec::Codec& codec_for(std::size_t elements);

  const std::string name_;
  const bool is_plain_;       // floats as they are
  std::size_t elements_ = 0;  // that codec_ is for
  std::unique_ptr<codec::Codec> codec_;
};

}  // namespace mangrove::infer
