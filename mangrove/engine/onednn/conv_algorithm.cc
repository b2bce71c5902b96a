#include "mangrove/engine/onednn/conv_algorithm.h"

#include <algorithm>

#include "mangrove/graph/conv_geometry.h"

namespace mangrove::onednn {
namespace {

bool all_are(const Dims& dims, std::int64_t value) {
  return std::all_of(dims.begin(), dims.end(), [=](std::int64_t dim) { return dim == value; });
}

/// From tiles of 4x4 pixels on, the products that are saved outweigh the transformations (1.4 to 2.7 times as fast);
/// smaller images are mostly padding of a tile.
/// source: Lavin and Gray, Fast algorithms for convolutional neural networks, 2016: F(4x4, 3x3) and F(2x2, 3x3).
bool winograd_pays(const ConvShape& conv) {
  constexpr std::int64_t kBlockedChannels = 16, kLeastChannels = 32, kTile = 4;
  if (conv.weights.size() != 4 || conv.weights[2] != 3 || conv.weights[3] != 3) return false;
  if (!all_are(conv.strides, 1) || !all_are(conv.dilations, 0)) return false;
  if (conv.dst[2] < kTile || conv.dst[3] < kTile) return false;
  // Transformed weights take two to four times the memory: they must be used for some pixels to be worth reading, and
  // there must be some work to make up for the reorders between this layout and the next convolution's.
  constexpr std::int64_t kLeastPixels = 64, kLeastProducts = 32 << 20;
  const std::int64_t pixels = conv.dst[0] * conv.dst[2] * conv.dst[3];
  const std::int64_t products = pixels * conv.weights[0] * conv.weights[1] * conv.weights[2] * conv.weights[3];
  if (pixels < kLeastPixels || products < kLeastProducts) return false;
  return std::all_of(conv.weights.begin(), conv.weights.begin() + 2, [](std::int64_t channels) {
    return channels >= kLeastChannels && channels % kBlockedChannels == 0;
  });
}

/// A kernel multiplies the weights by as many pixels at once as lie side by side. Of an image of 2x2 pixels that is
/// two, and all weights are read again for each image.
bool batch_inside_pays(const ConvShape& conv) {
  constexpr std::int64_t kLeastImages = 8, kMostPixels = 4, kLeastChannels = 64;
  if (conv.weights.size() != 4 || conv.dst[0] < kLeastImages || conv.dst[2] * conv.dst[3] > kMostPixels) return false;
  return conv.weights[0] >= kLeastChannels && conv.weights[1] >= kLeastChannels;
}

Dims grouped(const Shape& weights, std::int64_t groups) {
  Dims dims = weights.dims();
  if (groups == 1) return dims;
  dims[0] /= groups;
  dims.insert(dims.begin(), groups);
  return dims;
}

}  // namespace

ConvShape conv_shape(const Node& node, const Shape& input, const Shape& weights) {
  const ConvGeometry geometry = conv_geometry(node, input, weights).value();
  const Window& window = geometry.window;
  ConvShape shape{.src = input.dims(),
                  .weights = grouped(weights, geometry.group),
                  .dst = geometry.output_shape().dims(),
                  .strides = window.spatial(window.strides),
                  .dilations = window.spatial(window.dilations),
                  .pads_begin = window.spatial(window.pads_begin),
                  .pads_end = window.spatial(window.pads_end)};
  for (std::int64_t& dilation : shape.dilations) dilation -= 1;  // oneDNN counts the gaps, ONNX the distance
  return shape;
}

ConvAlgorithm expected_fastest(const ConvShape& conv) {
  if (winograd_pays(conv)) return ConvAlgorithm::winograd;
  if (batch_inside_pays(conv)) return ConvAlgorithm::batch_inside;
  return ConvAlgorithm::direct;
}

}  // namespace mangrove::onednn
