#pragma once

#include <cstdint>

namespace mangrove::onednn {

/// Rows of neighbouring channels: row r starts r * stride floats on.
struct Rows {
  std::int64_t count = 0;
  std::int64_t stride = 0;
};

/// v = (x - mean) factor + bias, per channel.
struct Affine {
  const float* mean;
  const float* factor;
  const float* bias;
};

/// An activation that clips: min(max(v, low), high).
struct Bounds {
  float low = 0;
  float high = 0;
};

/// dx = factor g + slope (x - mean) + constant, per channel.
struct GradientMap {
  const float* slope;
  const float* constant;
};

/// The loops of batch normalization over one group of neighbouring channels, behind it a residual and an activation
/// (fixed when the loops are chosen; pointers of what is not there are not looked at).
struct ChannelLoops {
  /// Adds the sums of x - shift and of its squares.
  void (*moments)(const Rows&, const float* x, const float* shift, double* sums, double* squares);
  /// y = activation(map(x) + residual); y may be x or residual.
  void (*normalize)(const Rows&, const float* x, const float* residual, float* y, const Affine& map, Bounds);
  /// Adds the sums of g and of g (x - mean), where g is dy passed back through the activation; y is looked at only
  /// with a residual and an activation.
  void (*gradient_sums)(const Rows&, const float* x, const float* y, const float* dy, const Affine& map, Bounds,
                        double* sums, double* products);
  /// Writes dx and, unless null, d_residual = g; one of them may be dy, x or y.
  void (*gradient)(const Rows&, const float* x, const float* y, const float* dy, float* dx, float* d_residual,
                   const Affine& map, Bounds, const GradientMap& by);
};

/// For groups of 16, 8, 4 or 1 channels, in the best instructions that this machine has.
ChannelLoops channel_loops(int width, bool residual, bool activation);

}  // namespace mangrove::onednn
