#include "mangrove/compress/constraint.h"

#include <gtest/gtest.h>

#include <vector>

namespace mangrove::compress {
namespace {

TEST(Constraint, GradientsOfSharedWeightsAreSummedAndThoseOfZerosGone) {
  const std::vector<float> numbers = {0, -1, 1, 2, 1, 0};
  std::vector<float> gradients = {5, 6, 1, 10, 2, 7};
  constrain_gradients(numbers, gradients);
  EXPECT_EQ(gradients, (std::vector<float>{0, 6, 3, 10, 3, 0}));
}

TEST(Constraint, WeightsTakeTheValueOfTheFirstOfTheirs) {
  const std::vector<float> numbers = {0, -1, 1, 2, 1, 0};
  std::vector<float> weights = {0.5f, 6, 1, 10, 1.25f, -0.5f};
  constrain_weights(numbers, weights);
  EXPECT_EQ(weights, (std::vector<float>{0, 6, 1, 10, 1, 0}));
}

TEST(Constraint, FreeWeightsStayAsTheyAre) {
  const std::vector<float> numbers = {-1, -1};
  std::vector<float> values = {3, -4};
  constrain_gradients(numbers, values);
  constrain_weights(numbers, values);
  EXPECT_EQ(values, (std::vector<float>{3, -4}));
  std::vector<float> none;
  constrain_weights({}, none);
}

TEST(Constraint, ZerosKeepTheNumbersOfSharedWeights) {
  const Tensor before = Tensor::of<std::int32_t>({4}, {1, 2, 1, kZero});
  const Tensor after = zeros_constraint(Tensor::of<float>({4}, {0.5f, 0, 0.5f, 0}), &before);
  const auto numbers = after.as<std::int32_t>();
  EXPECT_EQ(std::vector<std::int32_t>(numbers.begin(), numbers.end()), (std::vector<std::int32_t>{1, kZero, 1, kZero}));
  const Tensor alone = zeros_constraint(Tensor::of<float>({2}, {0, 3}), nullptr);
  EXPECT_EQ(alone.as<std::int32_t>()[0], kZero);
  EXPECT_EQ(alone.as<std::int32_t>()[1], kFree);
}

}  // namespace
}  // namespace mangrove::compress
