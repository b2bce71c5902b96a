#include "mangrove/compress/factors.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "mangrove/base/check.h"

namespace mangrove::compress {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

MatrixXd matrix_of(const Tensor& tensor, std::int64_t rows, std::int64_t columns) {
  return Eigen::Map<const RowMajor>(tensor.as<float>().data(), rows, columns).cast<double>();
}

Tensor tensor_of(const MatrixXd& matrix, Shape shape) {
  Tensor tensor(DType::f32, std::move(shape));
  Eigen::Map<RowMajor>(tensor.as<float>().data(), matrix.rows(), matrix.cols()) = matrix.cast<float>();
  return tensor;
}

/// The leading left singular vectors of a matrix, as columns.
MatrixXd leading_vectors(const MatrixXd& matrix, std::int64_t count) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(matrix * matrix.transpose());
  return solver.eigenvectors().rightCols(count);  // eigenvalues rise
}

/// [O, I, h, w] as [I, O h w].
MatrixXd unfolded_inputs(const Tensor& kernel) {
  const Shape& shape = kernel.shape();
  const Index outputs = shape[0], inputs = shape[1], places = shape[2] * shape[3];
  const MatrixXd rows = matrix_of(kernel, outputs * inputs, places);
  MatrixXd unfolded(inputs, outputs * places);
  for (Index o = 0; o < outputs; ++o)
    for (Index i = 0; i < inputs; ++i) unfolded.block(i, o * places, 1, places) = rows.row(o * inputs + i);
  return unfolded;
}

}  // namespace

MatrixFactors factor_matrix(const Tensor& matrix, std::int64_t rank) {
  const std::int64_t m = matrix.shape()[0], n = matrix.shape()[1];
  MG_CHECK(rank >= 1 && rank <= std::min(m, n));
  const MatrixXd whole = matrix_of(matrix, m, n);
  MatrixXd left, right;
  if (m <= n) {
    left = leading_vectors(whole, rank);
    right = left.transpose() * whole;
  } else {
    right = leading_vectors(whole.transpose(), rank).transpose();
    left = whole * right.transpose();
  }
  // equally long factors train alike
  for (Index r = 0; r < rank; ++r) {
    const double a = left.col(r).norm(), b = right.row(r).norm();
    const double balance = a > 0 && b > 0 ? std::sqrt(b / a) : 1;
    left.col(r) *= balance;
    right.row(r) /= balance;
  }
  return {tensor_of(left, {m, rank}), tensor_of(right, {rank, n})};
}

KernelFactors factor_kernel(const Tensor& kernel, std::int64_t out_rank, std::int64_t in_rank) {
  const Shape& shape = kernel.shape();
  const Index outputs = shape[0], inputs = shape[1], places = shape[2] * shape[3];
  const MatrixXd by_outputs = matrix_of(kernel, outputs, inputs * places);
  const MatrixXd u = leading_vectors(by_outputs, out_rank);              // [O, out_rank]
  const MatrixXd v = leading_vectors(unfolded_inputs(kernel), in_rank);  // [I, in_rank]
  const MatrixXd projected = u.transpose() * by_outputs;                 // [out_rank, I h w]
  MatrixXd core = MatrixXd::Zero(out_rank, in_rank * places);
  for (Index r = 0; r < in_rank; ++r)
    for (Index i = 0; i < inputs; ++i)
      core.middleCols(r * places, places) += v(i, r) * projected.middleCols(i * places, places);
  return {tensor_of(v.transpose(), {in_rank, shape[1], 1, 1}), tensor_of(core, {out_rank, in_rank, shape[2], shape[3]}),
          tensor_of(u, {shape[0], out_rank, 1, 1})};
}

}  // namespace mangrove::compress
