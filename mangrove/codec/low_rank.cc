#include "mangrove/codec/low_rank.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "mangrove/codec/scale.h"

namespace mangrove::codec {
namespace {

float dot(std::span<const float> a, std::span<const float> b) {
  constexpr std::size_t kLanes = 16;  // sums side by side: one would wait for each addition
  std::array<float, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= a.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < a.size(); ++i) lanes[0] += a[i] * b[i];
  return std::accumulate(lanes.begin(), lanes.end(), 0.0f);
}

void add_scaled(std::span<float> sum, float factor, std::span<const float> values) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor * values[i];
}

}  // namespace

void multiply(const Matrix<const float>& matrix, std::span<const float> right, std::span<float> left) {
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    for (std::size_t k = 0; k * matrix.rows < left.size(); ++k)
      left[k * matrix.rows + row] = dot(matrix.row(row), right.subspan(k * matrix.columns, matrix.columns));
  }
}

void multiply_transposed(const Matrix<const float>& matrix, std::span<const float> left, std::span<float> right) {
  std::fill(right.begin(), right.end(), 0.0f);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    for (std::size_t k = 0; k * matrix.columns < right.size(); ++k)
      add_scaled(right.subspan(k * matrix.columns, matrix.columns), left[k * matrix.rows + row], matrix.row(row));
  }
}

void expand(std::span<const float> left, std::span<const float> right, const Matrix<float>& matrix) {
  std::fill(matrix.values.begin(), matrix.values.end(), 0.0f);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    for (std::size_t k = 0; k * matrix.rows < left.size(); ++k)
      add_scaled(matrix.row(row), left[k * matrix.rows + row], right.subspan(k * matrix.columns, matrix.columns));
  }
}

void orthonormalise(std::span<float> thin, std::size_t rows) {
  constexpr double kDependent = 1e-10;  // of a squared norm: what rounding leaves of a column that depends on others
  for (std::size_t k = 0; k * rows < thin.size(); ++k) {
    const std::span<float> column = thin.subspan(k * rows, rows);
    const double before = sum_of_squares(column);
    for (std::size_t other = 0; other < 2 * k; ++other) {
      const std::span<const float> done = thin.subspan(other % k * rows, rows);
      add_scaled(column, -dot(column, done), done);
    }
    const bool is_finite = std::all_of(column.begin(), column.end(), [](float value) { return std::isfinite(value); });
    const double norm = std::sqrt(sum_of_squares(column));
    const bool counts = is_finite && norm * norm > kDependent * before;
    for (float& value : column) value = counts ? static_cast<float>(value / norm) : 0;
  }
}

void fill_normal(std::span<float> thin, Random& random) {
  for (float& value : thin) value = static_cast<float>(random.normal());
}

}  // namespace mangrove::codec
