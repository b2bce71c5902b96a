#include <algorithm>
#include <bit>
#include <cstring>

#include "mangrove/base/random.h"
#include "mangrove/codec/codecs/rows.h"
#include "mangrove/codec/sparse.h"

namespace mangrove::codec {
namespace {

/// `count` of n elements, each set with the same probability; a bit for each. source: Bentley & Floyd, Programming
/// pearls: a sample of brilliance, 1987.
std::vector<std::uint64_t> random_set(Random random, std::size_t count, std::size_t n) {
  std::vector<std::uint64_t> words((n + 63) / 64, 0);
  for (std::size_t last = n - count; last < n; ++last) {
    std::size_t element = random.below(last + 1);
    if ((words[element / 64] >> (element % 64) & 1) != 0) element = last;
    words[element / 64] |= std::uint64_t{1} << (element % 64);
  }
  return words;
}

/// visit(index) for each that is set, rising.
template <class Visit>
void for_each(const std::vector<std::uint64_t>& set, const Visit& visit) {
  for (std::size_t word = 0; word < set.size(); ++word) {
    for (std::uint64_t rest = set[word]; rest != 0; rest &= rest - 1) {
      visit(64 * word + static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }
}

/// A message has its round, the number of elements, and their values in order. Both sides draw the places from the seed
/// and the round.
class RandomK : public Codec {
 public:
  RandomK(double fraction, std::uint64_t seed) : fraction_(fraction), random_(seed) {}

  std::string encode(std::span<const float> values) override {
    const std::size_t count = elements_of(fraction_, values.size());
    std::string message;
    append_number(message, round_);
    append_number(message, count);
    const float scale =
        static_cast<float>(static_cast<double>(values.size()) / static_cast<double>(std::max<std::size_t>(count, 1)));
    for_each(random_set(random_.fork(round_++), count, values.size()), [&](std::size_t index) {
      const float value = scale * values[index];
      message.append(reinterpret_cast<const char*>(&value), sizeof value);
    });
    return message;
  }

  Status decode(std::string_view message, std::span<float> values) override {
    const std::optional<std::uint64_t> round = take_number(message), count = take_number(message);
    if (!round || !count || *count > values.size()) return bad_message("no round, no count, or one above its elements");
    MG_RETURN_IF_ERROR(check_size(message, *count * sizeof(float)));
    std::fill(values.begin(), values.end(), 0.0f);
    const char* value = message.data();
    for_each(random_set(random_.fork(*round), *count, values.size()), [&](std::size_t index) {
      std::memcpy(&values[index], value, sizeof(float));
      value += sizeof(float);
    });
    return {};
  }

  void set_fraction(double fraction) override { fraction_ = fraction; }

 private:
  double fraction_;
  const Random random_;  // forked for each round
  std::uint64_t round_ = 0;
};

}  // namespace

CodecRow rows::random_k() {
  return {
      .name = "random_k",
      .summary = "random elements in places that both sides draw, times n/k (Konečný et al., Federated learning, 2016)",
      .parameters = {{.name = "fraction", .fallback = 0.01, .least = 1e-6, .most = 1}},
      .is_unbiased = true,
      .make = [](std::span<const double> arguments, const Stream& stream) -> std::unique_ptr<Codec> {
        return std::make_unique<RandomK>(arguments[0], stream.seed);
      }};
}

}  // namespace mangrove::codec
