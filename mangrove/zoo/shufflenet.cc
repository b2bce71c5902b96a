#include <algorithm>
#include <array>

#include "mangrove/zoo/family.h"
#include "mangrove/zoo/layers.h"

namespace mangrove::zoo {
namespace {

constexpr std::array<int, 3> kUnits = {4, 8, 4};  // per stage

/// As in the authors' code: deviation 1 / (inputs of one group), whatever the kernel.
Initializer authors_normal(const Value& x, const ConvOptions& options) {
  return normal(static_cast<double>(options.groups) / static_cast<double>(x.channels()));
}

Value conv_bn_as_authors(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
                         const ConvOptions& options, bool relu) {
  const Value y = network.conv(name, x, channels, options, authors_normal(x, options));
  const Value normalized = network.batch_norm(name + ".bn", y, 1e-4f);
  return relu ? network.activation(name + ".relu", normalized, "Relu") : normalized;
}

Value depthwise(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t stride) {
  return conv_bn_as_authors(network, name, x, x.channels(), {.stride = stride, .groups = x.channels()}, false);
}

Value stem(NetworkBuilder& network) {
  Value x = network.conv("conv1", network.input(), 24, {.stride = 2}, normal(0.01));
  x = network.activation("conv1.relu", network.batch_norm("conv1.bn", x, 1e-4f), "Relu");
  return network.max_pool("pool1", x, {.kernel = 3, .stride = 2, .pad = 1});
}

/// Grouped 1x1, shuffle, 3x3 depthwise, grouped 1x1; added to x, or with stride 2 set beside its average.
Value unit_v1(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
              std::int64_t groups, bool first_of_network) {
  const bool strides = x.channels() != channels;
  const std::int64_t first_groups = first_of_network ? 1 : groups;  // few channels come in: not worth grouping
  Value f = conv_bn_as_authors(network, name + ".conv1", x, channels / 4, {.kernel = 1, .groups = first_groups}, true);
  if (groups > 1) f = channel_shuffle(network, name + ".shuffle", f, groups);
  f = depthwise(network, name + ".conv2", f, strides ? 2 : 1);
  f = conv_bn_as_authors(network, name + ".conv3", f, strides ? channels - x.channels() : channels,
                         {.kernel = 1, .groups = groups}, false);
  if (!strides) return network.activation(name + ".relu", network.add(name + ".add", x, f), "Relu");
  const Value average = network.average_pool(name + ".pool", x, {.kernel = 3, .stride = 2, .pad = 1});
  return network.activation(name + ".relu", network.concat(name + ".concat", {average, f}), "Relu");
}

/// The branch that both units of version 2 have: 1x1, depthwise, 1x1.
Value branch_v2(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
                std::int64_t stride) {
  Value f = conv_bn_as_authors(network, name + ".conv1", x, channels, {.kernel = 1}, true);
  f = depthwise(network, name + ".conv2", f, stride);
  return conv_bn_as_authors(network, name + ".conv3", f, channels, {.kernel = 1}, true);
}

/// Half of the channels goes through the branch; with stride 2 all of them, and through a second branch.
Value unit_v2(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels) {
  Value kept, changed;
  if (x.channels() == channels) {
    kept = network.slice(name + ".kept", x, 0, channels / 2);
    changed = branch_v2(network, name, network.slice(name + ".changed", x, channels / 2, channels), channels / 2, 1);
  } else {
    kept = depthwise(network, name + ".shortcut1", x, 2);
    kept = conv_bn_as_authors(network, name + ".shortcut2", kept, channels / 2, {.kernel = 1}, true);
    changed = branch_v2(network, name, x, channels / 2, 2);
  }
  return channel_shuffle(network, name + ".shuffle", network.concat(name + ".concat", {kept, changed}), 2);
}

std::string unit_name(std::size_t stage, int unit) {
  return "stage" + std::to_string(stage + 2) + ".unit" + std::to_string(unit);
}

/// ShuffleNet "shufflenet-v1-gG" of G groups: 1.9 M parameters and 140 M multiply-adds with 3 groups, for samples
/// [3, 224, 224] and 1,000 classes. Starts as the authors' code does.
/// source: Zhang, Zhou, Lin & Sun, ShuffleNet: an extremely efficient convolutional neural network for mobile devices,
/// CVPR 2018, table 1.
Result<Graph> build_shufflenet_v1(const Variant& variant, const ModelOptions& options) {
  struct Widths {
    std::int64_t groups, channels;  // of the first stage
  };
  constexpr std::array<Widths, 5> kWidths = {{{1, 144}, {2, 200}, {3, 240}, {4, 272}, {8, 384}}};
  const auto* found = std::find_if(kWidths.begin(), kWidths.end(),
                                   [&](const Widths& row) { return variant.has(0, "g" + std::to_string(row.groups)); });
  if (found == kWidths.end() || variant.size() != 1) return variant.mismatch();
  NetworkBuilder network(variant.name(), options);
  Value x = stem(network);
  for (std::size_t stage = 0; stage < kUnits.size(); ++stage) {
    for (int unit = 1; unit <= kUnits[stage]; ++unit) {
      const bool first = stage == 0 && unit == 1;
      x = unit_v1(network, unit_name(stage, unit), x, found->channels << stage, found->groups, first);
    }
  }
  return std::move(network).finish(classifier(network, x, options.classes, normal(0.01)));
}

/// ShuffleNet V2 "shufflenet-v2-S" of scale S = 0.5, 1.0, 1.5 or 2.0: 2.3 M parameters and 146 M multiply-adds at 1.0,
/// for samples [3, 224, 224] and 1,000 classes. Starts as the authors' code does.
/// source: Ma, Zhang, Zheng & Sun, ShuffleNet V2: practical guidelines for efficient CNN architecture design, ECCV
/// 2018, table 5.
Result<Graph> build_shufflenet_v2(const Variant& variant, const ModelOptions& options) {
  struct Widths {
    double scale;
    std::int64_t channels, last;  // of the first stage; of the last convolution
  };
  constexpr std::array<Widths, 4> kWidths = {{{0.5, 48, 1024}, {1, 116, 1024}, {1.5, 176, 1024}, {2, 244, 2048}}};
  const auto scale = variant.real(0, 0.5, 2);
  const auto* found =
      std::find_if(kWidths.begin(), kWidths.end(), [&](const Widths& row) { return scale && row.scale == *scale; });
  if (found == kWidths.end() || variant.size() != 1) return variant.mismatch();
  NetworkBuilder network(variant.name(), options);
  Value x = stem(network);
  for (std::size_t stage = 0; stage < kUnits.size(); ++stage) {
    for (int unit = 1; unit <= kUnits[stage]; ++unit)
      x = unit_v2(network, unit_name(stage, unit), x, found->channels << stage);
  }
  x = conv_bn_as_authors(network, "conv5", x, found->last, {.kernel = 1}, true);
  return std::move(network).finish(classifier(network, x, options.classes, normal(0.01)));
}

}  // namespace

Family rows::shufflenet_v1() {
  return {.names = {"shufflenet-v1", "shufflenet-v1-gG, groups G one of 1, 2, 3, 4, 8",
                    "grouped 1x1 convolutions, channel shuffle", "Zhang et al., CVPR 2018"},
          .sample = Sample::image,
          .build = &build_shufflenet_v1,
          .models = {{"shufflenet-v1-g3", {3, 224, 224}, 1000, 1'865'728, 137'460'672}}};
}

Family rows::shufflenet_v2() {
  return {.names = {"shufflenet-v2", "shufflenet-v2-S, scale S one of 0.5, 1.0, 1.5, 2.0", "channel split and shuffle",
                    "Ma et al., ECCV 2018"},
          .sample = Sample::image,
          .build = &build_shufflenet_v2,
          .models = {{"shufflenet-v2-0.5", {3, 224, 224}, 1000, 1'366'792, 40'476'448},
                     {"shufflenet-v2-1.0", {3, 224, 224}, 1000, 2'278'604, 144'907'992}}};
}

}  // namespace mangrove::zoo
