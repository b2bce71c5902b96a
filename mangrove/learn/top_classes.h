#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mangrove::learn {

/// A class with its probability.
struct RankedClass {
  std::size_t number;
  double probability;
};

/// The `count` most probable classes of a row of logits or probabilities [classes], the best first, of equals the first
/// one. None where a logit is NaN: it is not ordered, and says that nothing else can be believed.
std::vector<RankedClass> top_classes(std::span<const float> row, std::size_t count);

}  // namespace mangrove::learn
