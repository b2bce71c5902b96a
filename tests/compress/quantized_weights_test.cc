#include "mangrove/compress/quantized_weights.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mangrove/base/random.h"

namespace mangrove::compress {
namespace {

TEST(QuantizeWeights, ScalesAreThoseOfArithmeticByHand) {
  const Tensor weights = Tensor::of<float>({2, 3}, {0.5f, -1.27f, 0.005f, 25.4f, 0, -12.6f});
  const QuantizedWeights rows = quantize_weights(weights, 0, {}, 1);
  EXPECT_FLOAT_EQ(rows.scales.as<float>()[0], 0.01f);
  EXPECT_FLOAT_EQ(rows.scales.as<float>()[1], 0.2f);
  const std::vector<int> by_row = {50, -127, 0, 127, 0, -63};  // 0.5 steps go to the even number
  for (std::size_t i = 0; i < by_row.size(); ++i) EXPECT_EQ(rows.values.as<std::int8_t>()[i], by_row[i]) << i;
  const QuantizedWeights columns = quantize_weights(weights, 1, {}, 1);
  ASSERT_EQ(columns.scales.shape(), Shape{3});
  EXPECT_FLOAT_EQ(columns.scales.as<float>()[0], 0.2f);
  EXPECT_FLOAT_EQ(columns.scales.as<float>()[1], 0.01f);
  EXPECT_FLOAT_EQ(columns.scales.as<float>()[2], 12.6f / 127);
}

struct Case {
  const char* name;
  Shape shape;
  std::size_t axis;
};
class EveryLayout : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(QuantizeWeights, EveryLayout,
                         ::testing::Values(Case{"conv", {7, 3, 3, 5}, 0}, Case{"depthwise", {9, 1, 3, 3}, 0},
                                           Case{"gemm", {11, 6}, 1}, Case{"gemm_transposed", {6, 11}, 0},
                                           Case{"sequence", {4, 3, 5}, 0}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(EveryLayout, ErrorIsAtMostHalfAStepOfItsChannel) {
  const auto& [name, shape, axis] = GetParam();
  Random random(4);
  Tensor weights(DType::f32, shape);
  const auto channels = static_cast<std::size_t>(shape[axis]);
  const auto inner = static_cast<std::size_t>(shape.elements(axis + 1, shape.rank()));
  std::vector<double> largest(channels);
  const auto w = weights.as<float>();
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::size_t c = i / inner % channels;
    w[i] = static_cast<float>(random.normal() * std::pow(10.0, static_cast<double>(c % 4) - 2));
    largest[c] = std::max(largest[c], std::abs(static_cast<double>(w[i])));
  }
  const QuantizedWeights bytes = quantize_weights(weights, axis, {}, 0.1f);
  for (std::size_t c = 0; c < channels; ++c)
    EXPECT_FLOAT_EQ(bytes.scales.as<float>()[c], static_cast<float>(largest[c] / 127));
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double scale = bytes.scales.as<float>()[i / inner % channels];
    EXPECT_LE(std::abs(w[i] - scale * bytes.values.as<std::int8_t>()[i]), scale * 0.5001) << i;
  }
}

TEST(QuantizeWeights, BiasIsRightToHalfAStepEvenWhereTheWeightsAreNextToNothing) {
  // channel 1 is dead, channel 2 has weights of 1e-20: their bias would not fit into i32 by the scale of the weights
  const Tensor weights = Tensor::of<float>({4, 2}, {1, -0.5f, 0, 0, 1e-20f, -1e-20f, 0.3f, 0.1f});
  const std::vector<float> bias = {0.7f, -0.25f, 3.5f, 0};
  const float input_scale = 0.02f;
  const QuantizedWeights bytes = quantize_weights(weights, 0, bias, input_scale);
  const Tensor quantized = quantize_bias(bias, input_scale, bytes.scales);
  const Tensor units = bias_scales(input_scale, bytes.scales);
  for (std::size_t c = 0; c < bias.size(); ++c) {
    const double unit = units.as<float>()[c];
    EXPECT_FLOAT_EQ(units.as<float>()[c], input_scale * bytes.scales.as<float>()[c]);
    const double back = unit * quantized.as<std::int32_t>()[c];
    EXPECT_NEAR(back, bias[c], std::max(unit / 2, 1e-6 * std::abs(bias[c]))) << c;
    EXPECT_LE(std::abs(static_cast<double>(quantized.as<std::int32_t>()[c])), 1.01 * (1 << 30)) << c;
  }
  EXPECT_NEAR(quantized.as<std::int32_t>()[0] * static_cast<double>(units.as<float>()[0]), 0.7, 1e-4);
}

}  // namespace
}  // namespace mangrove::compress
