#pragma once

#include "mangrove/zoo/layers.h"
#include "mangrove/zoo/variant.h"

/// The blocks of residual networks, y = relu(F(x) + shortcut(x)).
/// source: He, Zhang, Ren & Sun, Deep residual learning for image recognition, CVPR 2016, figures 2 and 5.
namespace mangrove::zoo {

/// How x is brought to the shape of F(x) where that differs.
enum class Shortcut {
  padded,      // option A: every stride-th pixel, missing channels zero; no parameters
  projection,  // option B: 1x1 convolution and batch normalization
};

/// F: two 3x3 convolutions of so many channels, the first with the stride.
Value basic_block(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
                  std::int64_t stride, Shortcut shortcut);

/// F: 1x1 to `width` channels, 3x3 with the stride, 1x1 to 4 `width`.
Value bottleneck_block(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t width,
                       std::int64_t stride);

/// The names of the family "resnet" that are for CIFAR.
Result<Graph> build_resnet_cifar(const Variant& variant, const ModelOptions& options);

}  // namespace mangrove::zoo
