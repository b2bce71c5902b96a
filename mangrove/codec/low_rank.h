#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mangrove/base/check.h"
#include "mangrove/base/random.h"
#include "mangrove/codec/codec.h"

/// A matrix M of [rows, columns] as the product of two thin ones, left · rightᵀ. A thin matrix is stored column by
/// column, `rank` of them: left as [rank, rows], right as [rank, columns]. The steps from one to the other are
///
///   multiply(M, right, left)             left = M · right
///   orthonormalise(left, rows)
///   multiply_transposed(M, left, right)  right = Mᵀ · left: the best that there is beside this left
///   expand(left, right, M)               M = left · rightᵀ
///
/// The first and the third are linear in M: senders that have the same `right` may average left after the first step
/// and right after the third, by all-reduce, and get what the average of their matrices gives (Vogels et al., PowerSGD,
/// 2019, algorithm 1).
namespace mangrove::codec {

/// As it lies in a vector. Value: const float to be read, float to be written.
template <class Value>
struct Matrix {
  std::span<Value> values;  // [rows, columns]
  std::size_t rows = 0, columns = 0;
  std::span<Value> row(std::size_t index) const { return values.subspan(index * columns, columns); }
};

/// The layer at the front of what is left of a vector, taken off it.
template <class Value>
Matrix<Value> take_matrix(std::span<Value>& left, const Layer& layer) {
  const auto elements = static_cast<std::size_t>(layer.elements());
  MG_CHECK(elements <= left.size());
  const Matrix<Value> matrix{left.first(elements), static_cast<std::size_t>(layer.rows),
                             static_cast<std::size_t>(layer.columns)};
  left = left.subspan(elements);
  return matrix;
}

void multiply(const Matrix<const float>& matrix, std::span<const float> right, std::span<float> left);
void multiply_transposed(const Matrix<const float>& matrix, std::span<const float> left, std::span<float> right);
void expand(std::span<const float> left, std::span<const float> right, const Matrix<float>& matrix);

/// Gram-Schmidt, twice for each column, because rounding leaves something of the others the first time. A column that
/// depends on those before it, or is too large for float32, becomes zero. thin: [rank, rows].
void orthonormalise(std::span<float> thin, std::size_t rows);

/// Normally distributed.
void fill_normal(std::span<float> thin, Random& random);

}  // namespace mangrove::codec
