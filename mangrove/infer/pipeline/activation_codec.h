#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mangrove/codec/codec.h"

namespace mangrove::infer {

/// Checks the encoding of values between stages: "float32"; "fp16"; or "int8", with one scale for every 256 values.
/// errors: invalid_argument (another name; names the nearest one).
Status check_activations(const std::string& name);

/// The bytes of this number of values.
std::int64_t encoded_bytes(const std::string& name, std::int64_t elements);

/// The most of the answers, as a share, that honest devices give otherwise with this encoding: other kernels round
/// otherwise, and so does the encoding.
double changed_answers(const std::string& name);

/// Encodes and decodes the values that one stage sends to the next. threads: one at a time.
class ActivationCodec {
 public:
  /// name: one that check_activations accepts; "" is float32.
  explicit ActivationCodec(const std::string& name);

  void append(std::string& payload, std::span<const float> values);
  /// errors: data_loss (append() does not make such bytes of this number of values).
  Status decode(std::string_view bytes, std::span<float> values);

 private:
  codec::Codec& codec_for(std::size_t elements);

  const std::string name_;
  const bool is_plain_;                                          // float32
  std::map<std::size_t, std::unique_ptr<codec::Codec>> codecs_;  // by the length that each is made for
};

}  // namespace mangrove::infer
