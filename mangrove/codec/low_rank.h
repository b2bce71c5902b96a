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
///   multiply_transposed(M, left, right)  right = Mᵀ · left: the best one for this left
///   expand(left, right, M)               M = left · rightᵀ
///
/// The first and the third step are linear in M. So senders with the same `right` may average `left` after the first
/// step and `right` after the third, by all-reduce. The result is that of the average of their matrices (source: Vogels
/// et al., PowerSGD, 2019, algorithm 1). The two thin matrices have rank · (rows + columns) floats in place of rows ·
/// columns.
namespace mangrove::codec {

/// A matrix within a vector. Value: `const float` to read it, `float` to write it.
template <class Value>
struct Matrix {
  std::span<Value> values;  // [rows, columns]
  std::size_t rows = 0, columns = 0;
  std::span<Value> row(std::size_t index) const { return values.subspan(index * columns, columns); }
};

/// Takes the layer at the front of the rest of a vector, and shortens the rest.
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

/// Makes the columns orthonormal by Gram-Schmidt. Each column is treated twice, because rounding leaves a part of the
/// others the first time. A column that depends on earlier ones, or is too large for float32, becomes zero. thin:
/// [rank, rows].
void orthonormalise(std::span<float> thin, std::size_t rows);

/// Fills with normally distributed numbers.
void fill_normal(std::span<float> thin, Random& random);

}  // namespace mangrove::codec
