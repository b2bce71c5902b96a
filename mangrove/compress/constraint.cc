#include "mangrove/compress/constraint.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace mangrove::compress {
namespace {

std::size_t values_of(std::span<const float> numbers) {
  const float most = numbers.empty() ? 0 : *std::ranges::max_element(numbers);
  return static_cast<std::size_t>(std::max(most, 0.0f));
}

}  // namespace

Tensor zeros_constraint(const Tensor& weights, const Tensor* before) {
  Tensor numbers(DType::i32, weights.shape());
  const auto values = weights.as<float>();
  const auto result = numbers.as<std::int32_t>();
  for (std::size_t i = 0; i < values.size(); ++i)
    result[i] = values[i] == 0 ? kZero : before == nullptr ? kFree : before->as<std::int32_t>()[i];
  return numbers;
}

void constrain_gradients(std::span<const float> numbers, std::span<float> gradients) {
  std::vector<double> sums(values_of(numbers) + 1);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] > 0) sums[static_cast<std::size_t>(numbers[i])] += gradients[i];
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == kZero) gradients[i] = 0;
    if (numbers[i] > 0) gradients[i] = static_cast<float>(sums[static_cast<std::size_t>(numbers[i])]);
  }
}

void constrain_weights(std::span<const float> numbers, std::span<float> weights) {
  std::vector<float> values(values_of(numbers) + 1);
  std::vector<bool> is_known(values.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == kZero) weights[i] = 0;
    if (numbers[i] <= 0) continue;
    const auto number = static_cast<std::size_t>(numbers[i]);
    if (!is_known[number]) values[number] = weights[i];
    is_known[number] = true;
    weights[i] = values[number];
  }
}

}  // namespace mangrove::compress
