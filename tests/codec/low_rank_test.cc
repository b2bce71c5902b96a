// Thin factors of matrices, and the codecs that send them.
#include "mangrove/codec/low_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "mangrove/codec/scale.h"

namespace mangrove::codec {
namespace {

std::vector<float> normal_values(std::size_t elements, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(elements);
  fill_normal(values, random);
  return values;
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

double relative_error(const std::vector<float>& values, const std::vector<float>& truth) {
  std::vector<float> difference(values);
  for (std::size_t i = 0; i < values.size(); ++i) difference[i] -= truth[i];
  return std::sqrt(sum_of_squares(difference) / sum_of_squares(truth));
}

std::vector<float> decoded(Codec& codec, const std::vector<float>& values) {
  std::vector<float> result(values.size(), 7);
  EXPECT_TRUE(codec.decode(codec.encode(values), result).ok());
  return result;
}

/// A matrix of this rank.
std::vector<float> product(std::size_t rank, std::size_t rows, std::size_t columns, std::uint64_t seed) {
  std::vector<float> values(rows * columns);
  expand(normal_values(rank * rows, seed), normal_values(rank * columns, seed + 1),
         Matrix<float>{values, rows, columns});
  return values;
}

TEST(LowRank, ProductsAreThoseOfTheDefinition) {
  constexpr std::size_t kRows = 5, kColumns = 37, kRank = 3;
  const std::vector<float> values = normal_values(kRows * kColumns, 1);
  const Matrix<const float> matrix{values, kRows, kColumns};
  const std::vector<float> left = normal_values(kRank * kRows, 2), right = normal_values(kRank * kColumns, 3);
  std::vector<float> made_left(left.size()), made_right(right.size()), expanded(values.size());
  multiply(matrix, right, made_left);
  multiply_transposed(matrix, left, made_right);
  expand(left, right, Matrix<float>{expanded, kRows, kColumns});
  for (std::size_t k = 0; k < kRank; ++k) {
    for (std::size_t row = 0; row < kRows; ++row) {
      double sum = 0;
      for (std::size_t column = 0; column < kColumns; ++column)
        sum += values[row * kColumns + column] * right[k * kColumns + column];
      EXPECT_NEAR(made_left[k * kRows + row], sum, 1e-4);
    }
    for (std::size_t column = 0; column < kColumns; ++column) {
      double sum = 0;
      for (std::size_t row = 0; row < kRows; ++row) sum += values[row * kColumns + column] * left[k * kRows + row];
      EXPECT_NEAR(made_right[k * kColumns + column], sum, 1e-4);
    }
  }
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      double sum = 0;
      for (std::size_t k = 0; k < kRank; ++k) sum += left[k * kRows + row] * right[k * kColumns + column];
      EXPECT_NEAR(expanded[row * kColumns + column], sum, 1e-4);
    }
  }
}

TEST(LowRank, OrthonormalColumnsSpanWhatTheyDidAndOthersAreZero) {
  constexpr std::size_t kRows = 40, kRank = 5;
  std::vector<float> thin = normal_values(kRank * kRows, 4);
  for (std::size_t i = 0; i < kRows; ++i) {
    thin[1 * kRows + i] = thin[i] + 1e-3f * thin[1 * kRows + i];        // nearly the first
    thin[2 * kRows + i] = 2 * thin[i];                                  // the first
    thin[3 * kRows + i] = std::numeric_limits<float>::max() * thin[i];  // too large
  }
  orthonormalise(thin, kRows);
  const auto column = [&](std::size_t k) { return std::span<const float>(thin).subspan(k * kRows, kRows); };
  for (const std::size_t a : {0u, 1u, 4u}) {
    for (const std::size_t b : {0u, 1u, 4u}) EXPECT_NEAR(dot(column(a), column(b)), a == b ? 1 : 0, 1e-5) << a << b;
  }
  EXPECT_EQ(dot(column(2), column(2)), 0);
  EXPECT_EQ(dot(column(3), column(3)), 0);
}

TEST(Power, FindsTheFactorsOfAMatrixOfItsRank) {
  const Stream stream{.layers = {{30, 50}, {1, 30}}, .seed = 1};
  std::vector<float> values = product(2, 30, 50, 5);
  const std::vector<float> bias = normal_values(30, 6);
  values.insert(values.end(), bias.begin(), bias.end());
  const auto codec = make_codec("power(2)", stream).value();
  const std::string message = codec->encode(values);
  EXPECT_EQ(message.size(), sizeof(float) * (2 * (30 + 50) + 30));
  const std::vector<float> result = decoded(*codec, values);
  EXPECT_LT(relative_error(result, values), 1e-5);
  EXPECT_EQ(std::vector<float>(result.end() - 30, result.end()), bias);
}

TEST(Power, ComesNearerTheBestFactorsWithEachMessage) {
  // of two singular values, 2 and 1: the first message begins anywhere, later ones where the last ended
  std::vector<float> values(20 * 20, 0.0f);
  values[0] = 2;
  values[21] = 1;
  const auto codec = make_codec("power(1)", {.layers = {{20, 20}}, .seed = 3}).value();
  std::vector<float> result;
  for (int message = 0; message < 12; ++message) result = decoded(*codec, values);
  EXPECT_NEAR(result[0], 2, 1e-4);
  EXPECT_NEAR(result[21], 0, 1e-3);
}

TEST(Power, GoesOnAfterZerosAndNumbersThatAreNone) {
  const std::vector<float> zeros(30 * 50, 0.0f), values = product(2, 30, 50, 5);
  std::vector<float> bad = values, large = values;
  bad[7] = std::numeric_limits<float>::quiet_NaN();
  for (float& value : large) value *= 1e38f;
  const auto codec = make_codec("power(2)", {.layers = {{30, 50}}, .seed = 1}).value();
  for (const auto& before : {zeros, bad, large}) {
    codec->encode(before);
    EXPECT_LT(relative_error(decoded(*codec, values), values), 1e-5);
  }
}

TEST(Power, AveragesOfFactorsAreThoseOfTheAverage) {
  constexpr std::size_t kRows = 12, kColumns = 20, kRank = 2;
  const std::vector<float> start = normal_values(kRank * kColumns, 9);
  const std::vector<float> one = normal_values(kRows * kColumns, 10), other = normal_values(kRows * kColumns, 11);
  std::vector<float> average(one);
  for (std::size_t i = 0; i < average.size(); ++i) average[i] = (one[i] + other[i]) / 2;
  const auto all_reduce = [](std::vector<float>& a, const std::vector<float>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = (a[i] + b[i]) / 2;
  };
  const Matrix<const float> matrix{average, kRows, kColumns}, of_one{one, kRows, kColumns},
      of_other{other, kRows, kColumns};
  std::vector<float> left(kRank * kRows), right(kRank * kColumns), left_of_other(left), right_of_other(right);
  multiply(of_one, start, left);
  multiply(of_other, start, left_of_other);
  all_reduce(left, left_of_other);
  orthonormalise(left, kRows);
  multiply_transposed(of_one, left, right);
  multiply_transposed(of_other, left, right_of_other);
  all_reduce(right, right_of_other);

  std::vector<float> expected_left(left.size()), expected_right(right.size());
  multiply(matrix, start, expected_left);
  orthonormalise(expected_left, kRows);
  multiply_transposed(matrix, expected_left, expected_right);
  EXPECT_LT(relative_error(left, expected_left), 1e-5);
  EXPECT_LT(relative_error(right, expected_right), 1e-5);
}

TEST(StructuredLowRank, IsTheNearestInABasisThatChanges) {
  const Stream stream{.layers = {{40, 25}, {4, 10}}, .seed = 1};
  const std::vector<float> values = normal_values(1040, 12);
  const auto sender = make_codec("structured_low_rank(10)", stream).value();
  const std::string first = sender->encode(values), second = sender->encode(values);
  EXPECT_EQ(first.size(), 1 + sizeof(float) * (10 * 25 + 40));
  std::vector<float> once(values.size()), again(values.size());
  ASSERT_TRUE(sender->decode(first, once).ok());
  ASSERT_TRUE(sender->decode(second, again).ok());
  EXPECT_NE(once, again);
  EXPECT_EQ(std::vector<float>(once.end() - 40, once.end()), std::vector<float>(values.end() - 40, values.end()));
  // what is missing stands at a right angle to what is there, and a quarter of a random matrix is there
  once.resize(1000);
  const double kept = dot(once, once), common = dot(once, std::span(values).first(1000));
  EXPECT_NEAR(kept, common, 1e-3);
  EXPECT_NEAR(kept / sum_of_squares(std::span(values).first(1000)), 0.25, 0.05);
}

}  // namespace
}  // namespace mangrove::codec
