#include "mangrove/codec/random_places.h"

#include <algorithm>
#include <cstring>

#include "mangrove/codec/sparse.h"

namespace mangrove::codec {

std::vector<std::uint64_t> random_set(Random& random, std::size_t count, std::size_t n) {
  std::vector<std::uint64_t> words((n + 63) / 64, 0);
  for (std::size_t last = n - count; last < n; ++last) {
    std::size_t element = random.below(last + 1);
    if ((words[element / 64] >> (element % 64) & 1) != 0) element = last;
    words[element / 64] |= std::uint64_t{1} << (element % 64);
  }
  return words;
}

std::string RandomPlaces::encode(std::span<const float> values) {
  const std::size_t count = elements_of(fraction_, values.size());
  std::string message;
  append_number(message, round_);
  append_number(message, count);
  const double scale =
      is_scaled_ ? static_cast<double>(values.size()) / static_cast<double>(std::max<std::size_t>(count, 1)) : 1;
  Random random = random_.fork(round_++);
  const std::size_t start = message.size();
  message.resize(start + count * sizeof(float));
  char* out = message.data() + start;
  for_each_of(random_set(random, count, values.size()), [&](std::size_t index) {
    const float value = static_cast<float>(scale) * values[index];
    std::memcpy(out, &value, sizeof value);
    out += sizeof value;
  });
  return message;
}

Status RandomPlaces::decode(std::string_view message, std::span<float> values) {
  const std::optional<std::uint64_t> round = take_number(message), count = take_number(message);
  if (!round || !count || *count > values.size()) return bad_message("no round, no count, or one above its elements");
  MG_RETURN_IF_ERROR(check_size(message, *count * sizeof(float)));
  std::fill(values.begin(), values.end(), 0.0f);
  Random random = random_.fork(*round);
  const char* value = message.data();
  for_each_of(random_set(random, *count, values.size()), [&](std::size_t index) {
    std::memcpy(&values[index], value, sizeof(float));
    value += sizeof(float);
  });
  return {};
}

}  // namespace mangrove::codec
