#include "mangrove/zoo/family.h"
#include "mangrove/zoo/residual_block.h"

namespace mangrove::zoo {
namespace {

/// Two residual blocks that bring 16 channels of full resolution to 64 of a quarter, as the network's own later stages
/// do, and a classifier.
Value branch(NetworkBuilder& network, const std::string& name, Value x, std::int64_t classes) {
  x = basic_block(network, name + ".block1", x, 32, 2, Shortcut::projection);
  x = basic_block(network, name + ".block2", x, 64, 2, Shortcut::projection);
  return network.dense(name + ".fc", network.global_average_pool(name + ".pool", x), classes);
}

/// ResNet for CIFAR (see build_resnet_cifar) with early exits behind its first block and behind its first stage. Where
/// BranchyNet's branches are plain convolutions, these are residual blocks; its first exit is one convolution earlier,
/// inside the block, and its second at the same place: behind convolution 37 of 110.
/// source: Teerapittayanon, McDanel & Kung, BranchyNet: fast inference via early exiting from deep neural networks,
/// ICPR 2016, section IV (B-ResNet).
Result<Graph> build_branchy_resnet(const Variant& variant, const ModelOptions& options) {
  const auto depth = variant.whole(0, 8, 1202);
  if (!depth || *depth % 6 != 2 || variant.size() > 1) return variant.mismatch();
  NetworkBuilder network(variant.name(), options, he_normal_fan_in());
  std::vector<Value> exits;
  Value x = conv_bn(network, "conv1", network.input(), 16, {});
  const std::int64_t blocks = (*depth - 2) / 6;
  for (std::int64_t stage = 1; stage <= 3; ++stage) {
    for (std::int64_t block = 1; block <= blocks; ++block) {
      const std::string name = "stage" + std::to_string(stage) + ".block" + std::to_string(block);
      const std::int64_t stride = block == 1 && stage > 1 ? 2 : 1;
      x = basic_block(network, name, x, std::int64_t{8} << stage, stride, Shortcut::padded);
      const bool exits_here = stage == 1 && (block == 1 || block == blocks);
      if (exits_here) exits.push_back(branch(network, "branch" + std::to_string(exits.size() + 1), x, options.classes));
    }
  }
  return std::move(network).finish(classifier(network, x, options.classes), exits);
}

}  // namespace

Family rows::branchy_resnet() {
  return {.names = {"branchy-resnet", "branchy-resnet-D, depth D = 6n + 2 (8, 14, 20 ...)",
                    "ResNet for CIFAR with exits behind its first block and its first stage",
                    "Teerapittayanon et al., ICPR 2016"},
          .sample = Sample::image,
          .build = &build_branchy_resnet,
          .models = {{"branchy-resnet-110", {3, 32, 32}, 10, 1'873'774, 267'569'024}}};
}

}  // namespace mangrove::zoo
