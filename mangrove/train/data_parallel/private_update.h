#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "mangrove/privacy/noise_source.h"

namespace mangrove::train {

/// The gradient of a private step as its server makes it: a sum of what several send, with noise, by the number of
/// those that were expected. It is not divided by the number of those that came, which would tell of one more or less.
/// threads: one at a time.
class PrivateUpdate {
 public:
  explicit PrivateUpdate(std::size_t elements) : sum_(elements), part_(elements) {}

  void begin();
  /// body: begins with as many floats as there are elements (flat little-endian f32); others behind them are ignored.
  void add(std::string_view body);
  /// Adds the floats of the body times `scale`, cut down to this Euclidean norm. If one of them is not finite, the body
  /// adds nothing.
  void add_clipped(std::string_view body, double scale, double norm);
  /// Adds noise of this standard deviation to the sum, and divides by `expected`. Valid until the next begin().
  std::span<const float> finish(double deviation, double expected, privacy::NoiseSource& noise);

 private:
  std::vector<float> sum_, part_;
};

}  // namespace mangrove::train
