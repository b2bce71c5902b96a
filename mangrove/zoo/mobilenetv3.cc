#include <span>
#include <string>

#include "mangrove/zoo/family.h"
#include "mangrove/zoo/layers.h"

namespace mangrove::zoo {
namespace {

struct Bneck {
  std::int64_t kernel;
  std::int64_t expanded;
  std::int64_t channels;
  bool excites;
  bool is_hard_swish;  // else Relu
  std::int64_t stride;
};

// tables 1 and 2 of the paper
constexpr Bneck kLarge[] = {{3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2}, {3, 72, 24, false, false, 1},
                            {5, 72, 40, true, false, 2},  {5, 120, 40, true, false, 1}, {5, 120, 40, true, false, 1},
                            {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1}, {3, 184, 80, false, true, 1},
                            {3, 184, 80, false, true, 1}, {3, 480, 112, true, true, 1}, {3, 672, 112, true, true, 1},
                            {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1}, {5, 960, 160, true, true, 1}};
constexpr Bneck kSmall[] = {{3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1},
                            {5, 96, 40, true, true, 2},  {5, 240, 40, true, true, 1},  {5, 240, 40, true, true, 1},
                            {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},  {5, 288, 96, true, true, 2},
                            {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1}};

/// Inverted residual, with squeeze-and-excitation to a quarter of the expanded channels where the row says so.
Value bneck(NetworkBuilder& network, const std::string& name, const Value& x, const Bneck& row) {
  const std::string activation = row.is_hard_swish ? "HardSwish" : "Relu";
  Value f = x;
  if (row.expanded != x.channels()) f = conv_bn(network, name + ".expand", f, row.expanded, {.kernel = 1}, activation);
  const ConvOptions depthwise{.kernel = row.kernel, .stride = row.stride, .groups = row.expanded};
  f = conv_bn(network, name + ".depthwise", f, row.expanded, depthwise, activation);
  if (row.excites) {
    const std::int64_t squeezed = multiple_of_8(static_cast<double>(row.expanded) / 4);
    f = squeeze_and_excite(network, name + ".se", f, {.squeezed = squeezed, .is_hard = true});
  }
  f = conv_bn(network, name + ".project", f, row.channels, {.kernel = 1}, "");
  return row.stride == 1 && x.channels() == row.channels ? network.add(name + ".add", x, f) : f;
}

/// MobileNetV3 "mobilenetv3-S", S one of large and small: 5.5 and 2.5 M parameters, 219 and 56 M multiply-adds for
/// samples [3, 224, 224] and 1,000 classes. source: Howard et al., Searching for MobileNetV3, ICCV 2019.
Result<Graph> build_mobilenetv3(const Variant& variant, const ModelOptions& options) {
  const bool is_large = variant.has(0, "large");
  if (variant.size() != 1 || (!is_large && !variant.has(0, "small"))) return variant.mismatch();
  NetworkBuilder network(variant.name(), options, he_normal_fan_out());
  Value x = conv_bn(network, "conv1", network.input(), 16, {.stride = 2}, "HardSwish");
  int number = 1;
  for (const Bneck& row : is_large ? std::span<const Bneck>(kLarge) : std::span<const Bneck>(kSmall)) {
    x = bneck(network, "block" + std::to_string(number++), x, row);
  }
  x = conv_bn(network, "conv2", x, 6 * x.channels(), {.kernel = 1}, "HardSwish");
  x = network.dense("fc1", network.global_average_pool("pool", x), is_large ? 1280 : 1024, normal(0.01));
  x = network.dropout("dropout", network.activation("fc1.act", x, "HardSwish"), 0.2f);
  x = network.dense("fc2", x, options.classes, normal(0.01));
  return std::move(network).finish(x);
}

}  // namespace

Family rows::mobilenetv3() {
  return {.names = {"mobilenetv3", "mobilenetv3-S, S one of large, small",
                    "inverted residuals, hard Swish, squeeze-and-excitation", "Howard et al., ICCV 2019"},
          .sample = Sample::image,
          .build = &build_mobilenetv3,
          .models = {{"mobilenetv3-large", {3, 224, 224}, 1000, 5'483'032, 216'589'760},
                     {"mobilenetv3-small", {3, 224, 224}, 1000, 2'542'856, 56'510'400}}};
}

}  // namespace mangrove::zoo
