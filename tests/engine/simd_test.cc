// The kernels for processors without AVX-512. Every operator's samples are compared in backend_samples_test.cc; here
// are networks, whose layers fill many blocks, and the innermost loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "tests/engine/backend_comparison.h"

#include "mangrove/engine/simd/micro_kernels.h"
#include "mangrove/zoo/zoo.h"

namespace mangrove {
namespace {

constexpr float kSimdTolerance = 1e-4f;  // of the network's largest gradient: some tensors' are zero but for rounding
constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

/// Of all tensors of both.
float largest_difference(const std::map<std::string, std::vector<float>>& found,
                         const std::map<std::string, std::vector<float>>& expected) {
  float largest = 0;
  for (const auto& [name, values] : expected) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float difference = std::abs(found.at(name).at(i) - values[i]);
      if (!(difference <= largest)) largest = difference;  // NaN counts
    }
  }
  return largest;
}

float largest_value(const std::map<std::string, std::vector<float>>& of) {
  float largest = 0;
  for (const auto& [name, values] : of) {
    for (const float value : values) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

class SimdNetwork : public ::testing::TestWithParam<std::pair<const char*, Shape>> {};

TEST_P(SimdNetwork, LearnsAsOnPortableKernels) {
  const auto& [name, sample_shape] = GetParam();
  const auto graph = zoo::build_model(name, {.sample_shape = sample_shape, .classes = 10, .seed = 1});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto simd = make_execution(*graph, "simd", 3, true, 2), portable = make_execution(*graph, "portable", 3);
  ASSERT_TRUE(simd && portable);
  const StepOutcome found = run_step(*simd, 5), expected = run_step(*portable, 5);
  EXPECT_LE(largest_difference(found.outputs, expected.outputs), kSimdTolerance * largest_value(expected.outputs));
  EXPECT_LE(largest_difference(found.gradients, expected.gradients),
            kSimdTolerance * largest_value(expected.gradients));
}

INSTANTIATE_TEST_SUITE_P(Networks, SimdNetwork,
                         ::testing::Values(std::pair{"lenet", Shape{1, 28, 28}},
                                           std::pair{"resnet-20", Shape{3, 32, 32}},
                                           std::pair{"mobilenetv2-0.5", Shape{3, 64, 64}},
                                           std::pair{"lstm", Shape{9, 32}}, std::pair{"gru", Shape{9, 32}}));

// Both where vectors are computed and behind the last whole one.
TEST(SimdFinish, KeepsNan) {
  for (const float low : {-kInfinity, 0.0f}) {
    std::vector<float> y(2 * simd::kMaxLanes + 3, kNan);
    simd::micro_kernels().finish(static_cast<std::int64_t>(y.size()), 1, nullptr, low, low == 0 ? 6 : kInfinity,
                                 y.data());
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_TRUE(std::isnan(y[i])) << i;
  }
}

TEST(SimdFinish, RaisesFirstAndCapsThen) {
  std::vector<float> y(2 * simd::kMaxLanes + 3, 3), residual(y.size(), 0.25f);
  simd::micro_kernels().finish(static_cast<std::int64_t>(y.size()), 0.5f, residual.data(), 6, 2, y.data());
  EXPECT_EQ(y, std::vector<float>(y.size(), 2)) << "bounds that cross";
  simd::micro_kernels().finish(static_cast<std::int64_t>(y.size()), 0.5f, residual.data(), -kInfinity, kInfinity,
                               y.data());
  EXPECT_EQ(y, std::vector<float>(y.size(), 2.75f));
}

// Of every length up to some vectors. What is read behind a row, AddressSanitizer would see.
TEST(SimdCopy, TakesEachStepOfARow) {
  for (const std::int64_t step : {1, 2, 3}) {
    for (std::int64_t columns = 1; columns <= 3 * simd::kMaxLanes; ++columns) {
      constexpr std::int64_t kRows = 3;
      const std::int64_t width = (columns - 1) * step + 1;
      std::vector<float> from(static_cast<std::size_t>(kRows * width));
      std::iota(from.begin(), from.end(), 1.0f);
      std::vector<float> to(static_cast<std::size_t>(kRows * (columns + 2)), -1);
      simd::micro_kernels().copy({from.data(), kRows, columns, width, step}, to.data(), columns + 2);
      for (std::int64_t r = 0; r < kRows; ++r) {
        for (std::int64_t c = 0; c < columns + 2; ++c) {
          const float expected = c < columns ? from[static_cast<std::size_t>(r * width + c * step)] : -1;
          ASSERT_EQ(to[static_cast<std::size_t>(r * (columns + 2) + c)], expected) << step << " " << columns;
        }
      }
    }
  }
}

struct Activation {
  const char* name;
  void (*f)(std::int64_t count, const float* x, float* y);
  double (*exact)(double x);
};

class SimdActivation : public ::testing::TestWithParam<Activation> {};

TEST_P(SimdActivation, IsExactToSomeUnitsInTheLastPlace) {
  std::vector<float> x;
  for (float value = -86; value <= 86; value += 0.0371f) x.push_back(value);
  for (float value = 1e-30f; value < 1; value *= 3) x.insert(x.end(), {value, -value});
  std::vector<float> y(x.size());
  GetParam().f(static_cast<std::int64_t>(x.size()), x.data(), y.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = GetParam().exact(x[i]);
    EXPECT_NEAR(y[i], expected, 1e-6 * std::abs(expected)) << x[i];
  }
}

TEST_P(SimdActivation, HasItsLimitsAndKeepsNan) {
  const std::vector<float> x{-kInfinity, kInfinity, -1e30f, 1e30f, -500, 500, 0, -0.0f};
  std::vector<float> y(x.size() + 3, kNan);
  std::ranges::copy(x, y.begin());
  GetParam().f(static_cast<std::int64_t>(y.size()), y.data(), y.data());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], GetParam().exact(x[i]), 1e-30) << x[i];
  for (std::size_t i = x.size(); i < y.size(); ++i) EXPECT_TRUE(std::isnan(y[i])) << i;
}

INSTANTIATE_TEST_SUITE_P(Functions, SimdActivation,
                         ::testing::Values(Activation{"sigmoid", simd::micro_kernels().sigmoid,
                                                      [](double x) { return 1 / (1 + std::exp(-x)); }},
                                           Activation{"tanh", simd::micro_kernels().tanh,
                                                      [](double x) { return std::tanh(x); }}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace mangrove
