#pragma once

#include <cstdint>
#include <span>

namespace mangrove::learn {

/// Sums over the labelled rows of a batch.
struct BatchStats {
  double loss = 0;           // sum, not mean
  std::int64_t correct = 0;  // top-1
  std::int64_t count = 0;    // rows with a label

  BatchStats& operator+=(const BatchStats& other);
};

/// Softmax cross-entropy of logits [N, classes] against labels [N]; rows with a negative label are left out (gradient
/// 0). gradient [N, classes] = scale * d(sum of losses)/d(logits); may be empty where it is not wanted.
BatchStats softmax_cross_entropy(std::span<const float> logits, std::span<const std::int32_t> labels,
                                 std::int32_t classes, float scale, std::span<float> gradient);

}  // namespace mangrove::learn
