#include "mangrove/codec/sparse.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace mangrove::codec {

static_assert(std::endian::native == std::endian::little, "messages are little-endian");

std::size_t elements_of(double fraction, std::size_t elements) {
  const auto nearest = static_cast<std::size_t>(std::llround(fraction * static_cast<double>(elements)));
  return std::min(std::max<std::size_t>(nearest, 1), elements);
}

void append_elements(std::string& message, std::span<const std::uint32_t> indices, std::span<const float> values) {
  append_number(message, indices.size());
  const std::size_t start = message.size();
  message.resize(start + indices.size() * sizeof(float));
  char* out = message.data() + start;
  for (const std::uint32_t index : indices) {
    std::memcpy(out, &values[index], sizeof(float));
    out += sizeof(float);
  }
  std::uint32_t next = 0;
  for (const std::uint32_t index : indices) {
    append_number(message, index - next);
    next = index + 1;
  }
}

Status take_elements(std::string_view& message, std::span<float> values) {
  const std::optional<std::uint64_t> count = take_number(message);
  if (!count || *count > values.size()) return bad_message("no count, or one above its elements");
  const std::size_t bytes = *count * sizeof(float);
  if (bytes > message.size()) return bad_message("it ends within its values");
  const char* value = message.data();
  message.remove_prefix(bytes);
  std::size_t next = 0;
  for (std::size_t i = 0; i < *count; ++i, value += sizeof(float)) {
    const std::optional<std::size_t> index = skip(next, take_number(message), values.size());
    if (!index) return bad_message("an index is missing or beyond the end");
    std::memcpy(&values[*index], value, sizeof(float));
    next = *index + 1;
  }
  return {};
}

Status decode_elements(std::string_view message, std::span<float> values) {
  std::fill(values.begin(), values.end(), 0.0f);
  MG_RETURN_IF_ERROR(take_elements(message, values));
  return check_end(message);
}

Error bad_message(const std::string& what) {
  return make_error(Code::data_loss, "an encoded vector is damaged: " + what);
}

Status check_end(std::string_view message) {
  if (message.empty()) return {};
  return bad_message(std::to_string(message.size()) + " bytes after its end");
}

}  // namespace mangrove::codec
