#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace mangrove {

/// A seeded generator with the same stream on every platform and compiler (the standard distributions differ between
/// libraries, so they are not used).
/// source: Blackman & Vigna, Scrambled linear pseudorandom number generators, 2018 (xoshiro256**), seeded by
/// splitmix64. threads: one thread at a time; give every thread its own by fork().
class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();                      // 64 uniform bits
  std::uint64_t below(std::uint64_t bound);  // uniform in [0, bound), bound > 0, without bias
  double uniform();                          // [0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double normal();  // mean 0, standard deviation 1

  /// An independent generator for a sub-task, e.g. an epoch or a sample: the same (seed, stream) gives the same one.
  Random fork(std::uint64_t stream) const;

  /// Fisher-Yates.
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

  /// 0 .. n-1 in random order.
  std::vector<std::uint32_t> permutation(std::uint32_t n);

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_;
  double spare_normal_ = 0;
  bool has_spare_ = false;
};

}  // namespace mangrove
