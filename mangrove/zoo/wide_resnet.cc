#include "mangrove/zoo/family.h"
#include "mangrove/zoo/layers.h"

namespace mangrove::zoo {
namespace {

/// y = shortcut + conv(relu(bn(conv(relu(bn(x)))))): where the shape changes, the shortcut is a convolution of the
/// first activation.
Value wide_block(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
                 std::int64_t stride) {
  const Value normalized = network.batch_norm(name + ".conv1.bn", x);
  const Value active = network.activation(name + ".conv1.relu", normalized, "Relu");
  Value f = network.conv(name + ".conv1", active, channels, {.stride = stride});
  f = bn_relu_conv(network, name + ".conv2", f, channels, {});
  const bool projects = stride != 1 || x.channels() != channels;
  return network.add(
      name + ".add", f,
      projects ? network.conv(name + ".shortcut", active, channels, {.kernel = 1, .stride = stride}) : x);
}

/// Wide residual network "wrn-D-K" of depth D = 6n + 4: pre-activation blocks of 16K, 32K and 64K channels; WRN-28-10
/// has 36.5 M parameters. Starts as the authors' code does (normal, by fan out).
/// source: Zagoruyko & Komodakis, Wide residual networks, BMVC 2016, table 1.
Result<Graph> build_wide_resnet(const Variant& variant, const ModelOptions& options) {
  const auto depth = variant.whole(0, 10, 1000), factor = variant.whole(1, 1, 64);
  if (!depth || !factor || *depth % 6 != 4 || variant.size() != 2) return variant.mismatch();
  NetworkBuilder network(variant.name(), options, he_normal_fan_out());
  Value x = network.conv("conv1", network.input(), 16, {});
  for (std::int64_t stage = 1; stage <= 3; ++stage) {
    for (std::int64_t block = 1; block <= (*depth - 4) / 6; ++block) {
      const std::string name = "stage" + std::to_string(stage) + ".block" + std::to_string(block);
      x = wide_block(network, name, x, (8 * *factor) << stage, block == 1 && stage > 1 ? 2 : 1);
    }
  }
  x = network.activation("relu", network.batch_norm("bn", x), "Relu");
  return std::move(network).finish(classifier(network, x, options.classes));
}

}  // namespace

Family rows::wide_resnet() {
  return {.names = {"wrn", "wrn-D-K, depth D = 6n + 4, widening factor K", "wide residual networks",
                    "Zagoruyko & Komodakis, BMVC 2016"},
          .sample = Sample::image,
          .build = &build_wide_resnet,
          .models = {{"wrn-16-4", {3, 32, 32}, 10, 2'748'890, 392'612'352},
                     {"wrn-28-10", {3, 32, 32}, 10, 36'479'194, 5'243'328'768}}};
}

}  // namespace mangrove::zoo
