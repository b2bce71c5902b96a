#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mangrove::compress {

/// How the elements of a value are distributed: the range, and counts of |x| in equal bins from 0 on. A larger element
/// than all before doubles the width of the bins, so that the values are needed only once and at least half of the bins
/// cover what has been seen.
class Histogram {
 public:
  static constexpr std::size_t kBins = 4096;

  /// False, and nothing is added, where one of the elements is not a finite number.
  bool add(std::span<const float> elements);

  bool empty() const { return total_ == 0; }
  std::uint64_t total() const { return total_; }
  float low() const { return low_; }
  float high() const { return high_; }
  /// The largest |x|.
  double largest() const;
  /// Of |x| in [i, i + 1) * width().
  std::span<const std::uint64_t> counts() const { return counts_; }
  double width() const { return width_; }  // 0 as long as all elements are 0

 private:
  void cover(double largest);

  std::array<std::uint64_t, kBins> counts_{};
  double width_ = 0;
  std::uint64_t total_ = 0;
  float low_ = 0, high_ = 0;
};

}  // namespace mangrove::compress
