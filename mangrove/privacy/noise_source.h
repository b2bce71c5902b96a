#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace mangrove::privacy {

/// Random numbers that protect records: who is in a step, and the noise on what a step releases. They are as hard to
/// guess as the bits that they are made of. They are doubles, so the noise is a fine grid and not a continuum.
/// threads: one at a time.
class NoiseSource {
 public:
  /// bits: gives 64 random bits with each call.
  explicit NoiseSource(std::function<std::uint64_t()> bits) : bits_(std::move(bits)) {}
  /// For those who must see the same noise again, such as simulations and tests: from this seed, which everybody who
  /// knows it can do too. Equal streams give equal numbers.
  static NoiseSource of_seed(std::uint64_t seed, std::uint64_t stream);
  /// fill: fills memory with random bytes that nobody can guess.
  static NoiseSource of_bytes(std::function<void(std::span<std::byte>)> fill);

  /// True with this probability.
  bool chance(double probability) { return uniform() < probability; }
  /// Mean 0, standard deviation 1. source: Box & Muller, A note on the generation of random normal deviates, 1958.
  double normal();
  /// Adds normal numbers of this standard deviation.
  void add_normal(double deviation, std::span<float> values);

 private:
  double uniform();  // [0, 1)

  std::function<std::uint64_t()> bits_;
  double spare_normal_ = 0;
  bool has_spare_ = false;
};

}  // namespace mangrove::privacy
