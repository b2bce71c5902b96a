#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/codec/codec.h"

namespace mangrove::codec {

/// A random set of `count` of n elements, as one bit for each element. Every element has the same probability.
/// source: Bentley & Floyd, Programming pearls: a sample of brilliance, 1987.
std::vector<std::uint64_t> random_set(Random& random, std::size_t count, std::size_t n);

/// Calls visit(index) for each element of the set, in ascending order.
template <class Visit>
void for_each_of(const std::vector<std::uint64_t>& set, const Visit& visit) {
  for (std::size_t word = 0; word < set.size(); ++word) {
    for (std::uint64_t rest = set[word]; rest != 0; rest &= rest - 1) {
      visit(64 * word + static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }
}

/// Keeps the elements at random places. Both sides draw the places anew for each message, from the seed and the
/// message's round. So a message has only the round, the number of elements, and their values in order, as float32.
class RandomPlaces : public Codec {
 public:
  /// is_scaled: values are multiplied by n / k, so that they are right on average; otherwise they are sent as they are.
  RandomPlaces(double fraction, bool is_scaled, const Stream& stream)
      : fraction_(fraction), is_scaled_(is_scaled), random_(stream.seed) {}

  std::string encode(std::span<const float> values) override;
  Status decode(std::string_view message, std::span<float> values) override;
  void set_fraction(double fraction) override { fraction_ = fraction; }

 private:
  double fraction_;
  const bool is_scaled_;
  const Random random_;  // forked for each round
  std::uint64_t round_ = 0;
};

}  // namespace mangrove::codec
