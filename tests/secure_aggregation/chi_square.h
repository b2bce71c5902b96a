#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mangrove::secure {

/// How often each byte came.
class ByteCounts {
 public:
  void add(unsigned byte) {
    ++counts_.at(byte);
    ++all_;
  }
  /// Pearson's statistic of 256 equally likely values.
  double chi_square() const {
    const double expected = static_cast<double>(all_) / 256;
    double sum = 0;
    for (const std::int64_t count : counts_) {
      const double difference = static_cast<double>(count) - expected;
      sum += difference * difference / expected;
    }
    return sum;
  }
  /// With 255 degrees of freedom, uniform bytes are outside with a probability of 1 in 1000. There must be enough of
  /// them for the test to see anything.
  bool are_uniform() const { return all_ >= 256 * 20 && chi_square() > 187.13 && chi_square() < 335.96; }

 private:
  std::array<std::int64_t, 256> counts_{};
  std::int64_t all_ = 0;
};

}  // namespace mangrove::secure
