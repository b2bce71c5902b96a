// The loops of batch normalization at every length up to some vectors, against the same in double.
#include "mangrove/engine/simd/norm_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/engine/sample_graphs.h"

namespace mangrove::simd {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr Affine kMap{0.25f, 1.5f, -0.125f};
constexpr Bounds kBounds{-0.5f, 0.75f};

/// All up to some vectors, and some longer than what is summed in float at once.
std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> all{1023, 1024, 1025, 2048, 2049, 4321};
  for (std::int64_t count = 1; count <= 150; ++count) all.push_back(count);
  return all;
}

std::vector<float> drawn(std::int64_t count, std::uint64_t seed) {
  const Tensor tensor = uniform_tensor(DType::f32, {count}, seed);
  return {tensor.as<float>().begin(), tensor.as<float>().end()};
}

double mapped(double x) {
  return (x - static_cast<double>(kMap.mean)) * static_cast<double>(kMap.factor) + static_cast<double>(kMap.bias);
}

TEST(NormLoops, MomentsAreThoseAroundTheShift) {
  for (const std::int64_t count : lengths()) {
    const std::vector<float> x = drawn(count, 1);
    std::array<double, 2> found{3, 4}, expected{3, 4};
    norm_loops().moments(count, x.data(), 0.5f, found.data());
    for (const float value : x) {
      const double deviation = static_cast<double>(value) - 0.5;
      expected[0] += deviation;
      expected[1] += deviation * deviation;
    }
    for (const std::size_t i : {0, 1}) EXPECT_NEAR(found[i], expected[i], 1e-5 * std::abs(expected[i]) + 1e-6) << count;
  }
}

TEST(NormLoops, ResultLiesBetweenTheBounds) {
  for (const std::int64_t count : lengths()) {
    const std::vector<float> x = drawn(count, 1), residual = drawn(count, 2);
    for (const bool has_residual : {false, true}) {
      for (const Bounds* bounds : {static_cast<const Bounds*>(nullptr), &kBounds}) {
        std::vector<float> y(x.size() + 1, 7);
        norm_loops().normalize(count, x.data(), has_residual ? residual.data() : nullptr, kMap, bounds, y.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
          double expected = mapped(x[i]) + (has_residual ? static_cast<double>(residual[i]) : 0.0);
          if (bounds != nullptr)
            expected =
                std::min(std::max(expected, static_cast<double>(bounds->low)), static_cast<double>(bounds->high));
          ASSERT_NEAR(y[i], expected, 1e-6) << count << " " << i;
        }
        EXPECT_EQ(y.back(), 7) << "behind the last element";
      }
    }
  }
}

TEST(NormLoops, NanStaysNan) {
  const std::vector<float> x(37, kNan);
  std::vector<float> y(x.size(), 0);
  norm_loops().normalize(37, x.data(), nullptr, kMap, &kBounds, y.data());
  for (const float value : y) EXPECT_TRUE(std::isnan(value));
  norm_loops().normalize(37, std::vector<float>(37, 1).data(), x.data(), kMap, &kBounds, y.data());
  for (const float value : y) EXPECT_TRUE(std::isnan(value)) << "of the residual";
}

TEST(NormLoops, GradientPassesWhereTheResultIsBetweenTheBounds) {
  const GradientMap by{0.3f, -0.7f};
  for (const std::int64_t count : lengths()) {
    const std::vector<float> x = drawn(count, 1), dy = drawn(count, 2), y = drawn(count, 3);
    for (const float* result : {static_cast<const float*>(nullptr), y.data()}) {
      for (const Bounds* bounds : {static_cast<const Bounds*>(nullptr), &kBounds}) {
        std::array<double, 2> sums{}, expected{};
        std::vector<float> dx(x.size() + 1, 7), d_residual = dx;
        norm_loops().gradient_sums(count, x.data(), result, dy.data(), kMap, bounds, sums.data());
        norm_loops().gradient(count, x.data(), result, dy.data(), kMap, bounds, by, dx.data(), d_residual.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double centred = static_cast<double>(x[i]) - static_cast<double>(kMap.mean);
          const double value = result != nullptr ? static_cast<double>(result[i]) : mapped(x[i]);
          const bool passes = bounds == nullptr ||
                              (value > static_cast<double>(bounds->low) && value < static_cast<double>(bounds->high));
          const double g = passes ? static_cast<double>(dy[i]) : 0;
          expected[0] += g;
          expected[1] += g * centred;
          ASSERT_NEAR(d_residual[i], g, 0) << count << " " << i;
          ASSERT_NEAR(dx[i],
                      static_cast<double>(kMap.factor) * g + static_cast<double>(by.slope) * centred +
                          static_cast<double>(by.constant),
                      1e-6)
              << count << " " << i;
        }
        for (const std::size_t i : {0, 1})
          EXPECT_NEAR(sums[i], expected[i], 1e-6 * static_cast<double>(count) + 2e-6) << count;
        EXPECT_EQ(dx.back(), 7);
        EXPECT_EQ(d_residual.back(), 7);
      }
    }
  }
}

TEST(NormLoops, EitherGradientMayBeMissing) {
  const std::vector<float> x = drawn(21, 1), dy = drawn(21, 2);
  std::vector<float> both(21), alone(21), residual(21), residual_alone(21);
  const GradientMap by{0.3f, -0.7f};
  norm_loops().gradient(21, x.data(), nullptr, dy.data(), kMap, &kBounds, by, both.data(), residual.data());
  norm_loops().gradient(21, x.data(), nullptr, dy.data(), kMap, &kBounds, by, alone.data(), nullptr);
  norm_loops().gradient(21, x.data(), nullptr, dy.data(), kMap, &kBounds, by, nullptr, residual_alone.data());
  EXPECT_EQ(alone, both);
  EXPECT_EQ(residual_alone, residual);
}

}  // namespace
}  // namespace mangrove::simd
