#pragma once

#include <cstdint>

#include "mangrove/base/result.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove::compress {

/// A matrix [m, n] as left [m, rank] times right [rank, n].
struct MatrixFactors {
  Tensor left, right;
};

/// The product of this rank that is nearest to a matrix, f32 [m, n], in the sum of squares: its largest singular
/// values, the roots of which go to both factors. 1 <= rank <= min(m, n). cost: min(m, n)^3 for the eigenvectors of a
/// Gram matrix, in double. source: Eckart & Young, The approximation of one matrix by another of lower rank, 1936.
MatrixFactors factor_matrix(const Tensor& matrix, std::int64_t rank);

/// A kernel [O, I, h, w] as three: 1x1 to fewer inputs, [in_rank, I, 1, 1], the core [out_rank, in_rank, h, w], and 1x1
/// to the outputs, [O, out_rank, 1, 1].
struct KernelFactors {
  Tensor inputs, core, outputs;
};

/// Tucker decomposition of the two dimensions of channels, from the leading singular vectors of the kernel unfolded
/// along each. 1 <= in_rank <= I, 1 <= out_rank <= O. cost: I^3 + O^3, in double. source: Kim et al., Compression of
/// deep convolutional neural networks for fast and low power mobile applications, ICLR 2016; De Lathauwer, De Moor &
/// Vandewalle, A multilinear singular value decomposition, 2000.
KernelFactors factor_kernel(const Tensor& kernel, std::int64_t out_rank, std::int64_t in_rank);

}  // namespace mangrove::compress
