#include <algorithm>
#include <array>

#include "mangrove/zoo/family.h"
#include "mangrove/zoo/residual_block.h"

namespace mangrove::zoo {
namespace {

struct ResNetConfiguration {
  std::int64_t depth;
  std::array<int, 4> blocks;  // per stage
  bool bottleneck;
};

constexpr ResNetConfiguration kResNetConfigurations[] = {
    {18, {2, 2, 2, 2}, false},  {34, {3, 4, 6, 3}, false},  {50, {3, 4, 6, 3}, true},
    {101, {3, 4, 23, 3}, true}, {152, {3, 8, 36, 3}, true},
};

/// ResNet for ImageNet, "resnet-50"; its first layers are a 7x7 convolution of stride 2 and a pooling, or with
/// "resnet-50-cifar" a 3x3 convolution of stride 1 that keeps the resolution of small images. Bottlenecks stride in
/// their 3x3 convolution, as PyTorch's and NVIDIA's ("v1.5"): ResNet-50 has 25,557,032 parameters and 4.1 G
/// multiply-adds for samples [3, 224, 224] and 1,000 classes (3.8 G where the 1x1 convolution strides, as in the
/// paper). source: He, Zhang, Ren & Sun, Deep residual learning for image recognition, CVPR 2016, table 1.
Result<Graph> build_resnet(const Variant& variant, const ModelOptions& options) {
  const auto depth = variant.whole(0, 18, 1202);
  const auto* found = std::find_if(std::begin(kResNetConfigurations), std::end(kResNetConfigurations),
                                   [&](const ResNetConfiguration& row) { return depth && row.depth == *depth; });
  if (found == std::end(kResNetConfigurations)) return build_resnet_cifar(variant, options);
  const bool small_stem = variant.has(1, "cifar");
  if (variant.size() > (small_stem ? 2 : 1)) return variant.mismatch();
  NetworkBuilder network(variant.name(), options, he_normal_fan_in());
  Value x = conv_bn(network, "conv1", network.input(), 64,
                    small_stem ? ConvOptions{.kernel = 3} : ConvOptions{.kernel = 7, .stride = 2});
  if (!small_stem) x = network.max_pool("pool1", x, {.kernel = 3, .stride = 2, .pad = 1});
  std::int64_t width = 64;
  for (std::size_t stage = 0; stage < found->blocks.size(); ++stage, width *= 2) {
    for (int block = 1; block <= found->blocks[stage]; ++block) {
      const std::string name = "stage" + std::to_string(stage + 1) + ".block" + std::to_string(block);
      const std::int64_t stride = block == 1 && stage > 0 ? 2 : 1;
      x = found->bottleneck ? bottleneck_block(network, name, x, width, stride)
                            : basic_block(network, name, x, width, stride, Shortcut::projection);
    }
  }
  return std::move(network).finish(classifier(network, x, options.classes));
}

}  // namespace

Family rows::resnet() {
  return {
      .names = {"resnet",
                "resnet-D and resnet-D-b, D = 6n + 2 (8, 14, 20 ...); resnet-D and resnet-D-cifar, D one of 18, 34, "
                "50, 101, 152",
                "residual networks: for CIFAR (padded shortcuts; -b: projections) and for ImageNet (-cifar: 3x3 stem)",
                "He et al., CVPR 2016"},
      .sample = Sample::image,
      .build = &build_resnet,
      .models = {{"resnet-20", {3, 32, 32}, 10, 269'722, 40'551'040},
                 {"resnet-32", {3, 32, 32}, 10, 464'154, 68'862'592},
                 {"resnet-32-b", {3, 32, 32}, 10, 466'906, 69'124'736},
                 {"resnet-44", {3, 32, 32}, 10, 658'586, 97'174'144},
                 {"resnet-56", {3, 32, 32}, 10, 853'018, 125'485'696},
                 {"resnet-80", {3, 32, 32}, 10, 1'241'882, 182'108'800},
                 {"resnet-110", {3, 32, 32}, 10, 1'727'962, 252'887'680},
                 {"resnet-110-b", {3, 32, 32}, 10, 1'730'714, 253'149'824},
                 {"resnet-18", {3, 224, 224}, 1000, 11'689'512, 1'814'073'344},
                 {"resnet-34", {3, 224, 224}, 1000, 21'797'672, 3'663'761'408},
                 {"resnet-34-cifar", {3, 32, 32}, 10, 21'282'122, 1'159'402'496},
                 {"resnet-50", {3, 224, 224}, 1000, 25'557'032, 4'089'184'256},
                 {"resnet-101", {3, 224, 224}, 1000, 44'549'160, 7'801'405'440},
                 {"resnet-152", {3, 224, 224}, 1000, 60'192'808, 11'513'626'624}}};
}

}  // namespace mangrove::zoo
