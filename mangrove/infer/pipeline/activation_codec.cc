#include "mangrove/infer/pipeline/activation_codec.h"

#include <algorithm>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

bool is_float32(const std::string& name) {
  return name.empty() || name == "float32";
}

}  // namespace

Status check_activations(const std::string& name) {
  const std::vector<std::string> known = {"float32", "fp16", "int8"};
  if (name.empty() || std::ranges::count(known, name) > 0) return {};
  return make_error(Code::invalid_argument, "activations: unknown encoding '" + name + "'" + suggestion(name, known));
}

std::int64_t encoded_bytes(const std::string& name, std::int64_t elements) {
  if (is_float32(name)) return 4 * elements;
  return name == "fp16" ? 2 * elements : elements + 4 * ((elements + 255) / 256);
}

codec::Codec& ActivationCodec::codec_for(std::size_t elements) {
  if (codec_ == nullptr || elements_ != elements) {
    Result<std::unique_ptr<codec::Codec>> made =
        codec::make_codec(name_, {{{1, static_cast<std::int64_t>(elements)}}, /*seed=*/1});
    MG_CHECK_MSG(made.ok(), made.error().message);
    codec_ = std::move(*made);
    elements_ = elements;
  }
  return *codec_;
}

void ActivationCodec::append(std::string& payload, std::span<const float> values) {
  if (is_float32(name_)) {
    net::append_floats(payload, values);
  } else {
    payload += codec_for(values.size()).encode(values);
  }
}

Status ActivationCodec::decode(std::string_view bytes, std::span<float> values) {
  return is_float32(name_) ? net::read_floats(bytes, values) : codec_for(values.size()).decode(bytes, values);
}

}  // namespace mangrove::infer
