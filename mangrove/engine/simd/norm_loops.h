#pragma once

#include <cstdint>

#include "mangrove/engine/simd/finish.h"

/// The loops of batch normalization over `count` elements of one channel that lie next to each other, in the vector
/// instructions of the processor that the program runs on. They may be called from any thread.
namespace mangrove::simd {

/// y = (x - mean) factor + bias
struct Affine {
  float mean, factor, bias;
};

/// How the gradient with respect to x depends on x itself.
struct GradientMap {
  float slope, constant;
};

struct NormLoops {
  /// sums[0] += sum of x - shift, sums[1] += sum of their squares.
  void (*moments)(std::int64_t count, const float* x, float shift, double* sums);

  /// y = the map of x, + residual, between the bounds. residual and bounds may be null; y may be x or residual.
  void (*normalize)(std::int64_t count, const float* x, const float* residual, Affine map, const Bounds* bounds,
                    float* y);

  // Below, g is dy where the result lies between the bounds, and 0 elsewhere. y is that result, or null if it is the
  // map of x.

  /// sums[0] += sum of g, sums[1] += sum of g (x - mean).
  void (*gradient_sums)(std::int64_t count, const float* x, const float* y, const float* dy, Affine map,
                        const Bounds* bounds, double* sums);
  /// dx = factor g + slope (x - mean) + constant, d_residual = g. Each of them may be null, and may be dy.
  void (*gradient)(std::int64_t count, const float* x, const float* y, const float* dy, Affine map,
                   const Bounds* bounds, GradientMap dx_map, float* dx, float* d_residual);
};

/// Returns the loops in the best instructions that this processor has.
const NormLoops& norm_loops();

}  // namespace mangrove::simd
