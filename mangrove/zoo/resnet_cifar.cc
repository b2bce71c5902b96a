#include "mangrove/zoo/residual_block.h"
#include "mangrove/zoo/variant.h"

namespace mangrove::zoo {

/// ResNet for CIFAR of depth 6n + 2: three stages of n blocks of 16, 32 and 64 channels; ResNet-20 has 0.27 M
/// parameters, ResNet-110 1.7 M. Shortcuts are padded (option A, as in the paper's section 4.2), or projections with
/// "resnet-20-b".
/// source: He, Zhang, Ren & Sun, Deep residual learning for image recognition, CVPR 2016.
Result<Graph> build_resnet_cifar(const Variant& variant, const ModelOptions& options) {
  const auto depth = variant.whole(0, 8, 1202);
  const bool projects = variant.has(1, "b");
  if (!depth || *depth % 6 != 2 || variant.size() > (projects ? 2 : 1)) return variant.mismatch();
  const Shortcut shortcut = projects ? Shortcut::projection : Shortcut::padded;
  NetworkBuilder network(variant.name(), options, he_normal_fan_in());
  Value x = conv_bn(network, "conv1", network.input(), 16, {});
  for (std::int64_t stage = 1; stage <= 3; ++stage) {
    for (std::int64_t block = 1; block <= (*depth - 2) / 6; ++block) {
      const std::string name = "stage" + std::to_string(stage) + ".block" + std::to_string(block);
      const std::int64_t stride = block == 1 && stage > 1 ? 2 : 1;
      x = basic_block(network, name, x, std::int64_t{8} << stage, stride, shortcut);
    }
  }
  return std::move(network).finish(classifier(network, x, options.classes));
}

}  // namespace mangrove::zoo
