#include "mangrove/infer/pipeline/activation_codec.h"

#include <array>

#include "mangrove/base/check.h"
#include "mangrove/base/table.h"
#include "mangrove/net/payload.h"

namespace mangrove::infer {
namespace {

struct Encoding {
  std::string_view name;  // of the codec, unless it is plain
  bool is_plain = false;  // floats as they are
  std::int64_t (*bytes)(std::int64_t elements);
  double changed_answers = 0.01;
};

constexpr std::array kEncodings = {
    Encoding{.name = "float32", .is_plain = true, .bytes = [](std::int64_t n) { return 4 * n; }},
    Encoding{.name = "fp16", .bytes = [](std::int64_t n) { return 2 * n; }},
    Encoding{.name = "int8",
             .bytes = [](std::int64_t n) { return n + 4 * ((n + 255) / 256); },  // a scale for each 256
             .changed_answers = 0.05},
};

Result<const Encoding*> find_encoding(const std::string& name) {
  if (name.empty()) return &kEncodings.front();
  return find_row(kEncodings, name, "activations: unknown encoding", Code::invalid_argument);
}

/// REQUIRES: check_activations(name).
const Encoding& encoding_of(const std::string& name) {
  const Result<const Encoding*> found = find_encoding(name);
  MG_CHECK_MSG(found.ok(), found.error().message);
  return **found;
}

}  // namespace

Status check_activations(const std::string& name) {
  MG_RETURN_IF_ERROR(find_encoding(name));
  return {};
}

std::int64_t encoded_bytes(const std::string& name, std::int64_t elements) {
  return encoding_of(name).bytes(elements);
}

double changed_answers(const std::string& name) {
  return encoding_of(name).changed_answers;
}

ActivationCodec::ActivationCodec(const std::string& name)
    : name_(encoding_of(name).name), is_plain_(encoding_of(name).is_plain) {}

codec::Codec& ActivationCodec::codec_for(std::size_t elements) {
  std::unique_ptr<codec::Codec>& codec = codecs_[elements];
  if (codec == nullptr) {
    Result<std::unique_ptr<codec::Codec>> made =
        codec::make_codec(name_, {{{1, static_cast<std::int64_t>(elements)}}, /*seed=*/1});
    MG_CHECK_MSG(made.ok(), made.error().message);
    codec = std::move(*made);
  }
  return *codec;
}

void ActivationCodec::append(std::string& payload, std::span<const float> values) {
  if (is_plain_) {
    net::append_floats(payload, values);
  } else {
    payload += codec_for(values.size()).encode(values);
  }
}

Status ActivationCodec::decode(std::string_view bytes, std::span<float> values) {
  return is_plain_ ? net::read_floats(bytes, values) : codec_for(values.size()).decode(bytes, values);
}

}  // namespace mangrove::infer
