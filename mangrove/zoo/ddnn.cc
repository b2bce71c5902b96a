#include <array>

#include "mangrove/tensor/view_grid.h"
#include "mangrove/zoo/family.h"
#include "mangrove/zoo/network_builder.h"

namespace mangrove::zoo {
namespace {

constexpr std::int64_t kMostViews = 64;
constexpr std::int64_t kLeastViewSide = 4;  // of a view: 4 - 2 - 1 through the poolings
constexpr std::int64_t kFeatures = 4;       // channels that a device sends up

/// How values of several devices become one.
enum class Fusion { max, average, concat };

std::optional<Fusion> fusion_of(const Variant& variant, std::size_t word, Fusion otherwise) {
  if (word >= variant.size()) return otherwise;
  if (variant.has(word, "max")) return Fusion::max;
  if (variant.has(word, "average")) return Fusion::average;
  if (variant.has(word, "concat")) return Fusion::concat;
  return std::nullopt;
}

Value fuse(NetworkBuilder& network, const std::string& name, const std::vector<Value>& values, Fusion fusion) {
  if (values.size() == 1) return values.front();
  if (fusion == Fusion::concat) return network.concat(name, values);
  return network.apply(name, fusion == Fusion::max ? "Max" : "Mean", values);
}

Value slice(NetworkBuilder& network, const std::string& name, const Value& image, const ImagePart& part) {
  const auto two = [](std::int64_t a, std::int64_t b) { return Tensor::of<std::int64_t>(Shape{2}, {a, b}); };
  return network.apply(
      name, "Slice", {image},
      {{"starts", two(part.top, part.left)}, {"ends", two(part.bottom, part.right)}, {"axes", two(2, 3)}});
}

/// Convolution, normalization, rectifier and pooling.
Value block(NetworkBuilder& network, const std::string& name, Value x, std::int64_t channels) {
  x = network.conv(name + ".conv", x, channels);
  x = network.batch_norm(name + ".bn", x);
  x = network.activation(name + ".relu", x, "Relu");
  return network.max_pool(name + ".pool", x);
}

/// A network over several devices, each of which sees a part of the image (tensor/view_grid.h) through two blocks of
/// its own. Their class scores, fused, are the first exit; their features, fused, go up to a larger network. The blocks
/// are of floats, where the paper's are binary. source: Teerapittayanon, McDanel & Kung, Distributed deep neural
/// networks over the cloud, the edge and end devices, ICDCS 2017; fusion: MP, AP and CC
/// there, of which MP for scores is found best where all devices see the same object; where each sees a part of it, the
/// scores' mean is far better (bench/exits).
Result<Graph> build_ddnn(const Variant& variant, const ModelOptions& options) {
  const auto views = variant.whole(0, 1, kMostViews);
  const auto scores = fusion_of(variant, 1, Fusion::average), features = fusion_of(variant, 2, Fusion::concat);
  if (!views || !scores || !features || variant.size() > 3) return variant.mismatch();
  const auto parts = view_grid(*views, options.sample_shape[1], options.sample_shape[2]);
  const std::int64_t tall = parts[0].bottom - parts[0].top, wide = parts[0].right - parts[0].left;
  if (tall < kLeastViewSide || wide < kLeastViewSide) {
    return make_error(Code::invalid_argument, "samples " + to_string(options.sample_shape) + " are too small for " +
                                                  std::to_string(*views) + " views of at least 4 x 4 pixels");
  }
  NetworkBuilder network(variant.name(), options, he_normal_fan_in());
  std::vector<Value> sent, said;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string name = "view" + std::to_string(i + 1);
    Value x = slice(network, name, network.input(), parts[i]);
    x = block(network, name + ".block1", x, 16);
    x = block(network, name + ".block2", x, kFeatures);
    sent.push_back(x);
    said.push_back(network.dense(name + ".fc", network.flatten(name + ".flatten", x), options.classes));
  }
  Value exit = fuse(network, "exit1.fusion", said, *scores);
  if (*scores == Fusion::concat) exit = network.dense("exit1.fc", exit, options.classes);

  Value x = fuse(network, "fusion", sent, *features);
  x = network.conv("upper.conv", x, 64);
  x = network.batch_norm("upper.bn", x);
  x = network.activation("upper.relu", x, "Relu");
  x = network.dense("upper.fc1", network.flatten("upper.flatten", x), 128);
  x = network.activation("upper.relu2", x, "Relu");
  return std::move(network).finish(network.dense("upper.fc2", x, options.classes), {exit});
}

}  // namespace

Family rows::ddnn() {
  return {
      .names =
          {"ddnn",
           "ddnn-V-SCORES-FEATURES, V views, fusions each one of max, average, concat (ddnn-6: ddnn-6-average-concat)",
           "devices that each see a part of the image, an exit of their fused scores, a larger network behind",
           "Teerapittayanon et al., ICDCS 2017"},
      .sample = Sample::image,
      .build = &build_ddnn,
      .models = {{"ddnn-6", {1, 28, 28}, 10, 70'582, 376'736}}};
}

}  // namespace mangrove::zoo
