#include "mangrove/zoo/zoo.h"

#include <algorithm>
#include <new>

#include "mangrove/base/suggestion.h"
#include "mangrove/base/table.h"
#include "mangrove/zoo/families.h"

namespace mangrove::zoo {
namespace {

enum class Sample { any, image, window };

struct Builder {
  ModelFamily family;
  Sample sample;
  Result<Graph> (*build)(const Variant&, const ModelOptions&);
};

constexpr Builder kBuilders[] = {
    {{"mlp", "mlp-UNITS-UNITS...", "multi-layer perceptron, 128 and 64 ReLU units or as named",
      "MXNet's MNIST example"},
     Sample::any,
     &build_mlp},
    {{"lenet", "lenet", "LeNet-5, 20-50-500 variant with tanh", "LeCun et al., Proc. IEEE 1998"},
     Sample::image,
     &build_lenet},
    {{"alexnet", "alexnet", "AlexNet, the original of two groups", "Krizhevsky et al., NIPS 2012"},
     Sample::image,
     &build_alexnet},
    {{"vgg", "vgg-D, depth D one of 11, 13, 16, 19", "3x3 convolutions, large dense layers",
      "Simonyan & Zisserman, ICLR 2015"},
     Sample::image,
     &build_vgg},
    {{"resnet",
      "resnet-D and resnet-D-b, D = 6n + 2 (8, 14, 20 ...); resnet-D and resnet-D-cifar, D one of 18, 34, 50, 101, 152",
      "residual networks: for CIFAR (padded shortcuts; -b: projections) and for ImageNet (-cifar: 3x3 stem)",
      "He et al., CVPR 2016"},
     Sample::image,
     &build_resnet},
    {{"wrn", "wrn-D-K, depth D = 6n + 4, widening factor K", "wide residual networks",
      "Zagoruyko & Komodakis, BMVC 2016"},
     Sample::image,
     &build_wide_resnet},
    {{"mobilenet", "mobilenet-W-D, width multiplier W, depth multiplier D of the five equal blocks",
      "depthwise separable convolutions (D = 0: shallow)", "Howard et al., 2017"},
     Sample::image,
     &build_mobilenet},
    {{"mobilenetv2", "mobilenetv2-W, width multiplier W", "inverted residuals, linear bottlenecks",
      "Sandler et al., CVPR 2018"},
     Sample::image,
     &build_mobilenetv2},
    {{"shufflenet-v1", "shufflenet-v1-gG, groups G one of 1, 2, 3, 4, 8", "grouped 1x1 convolutions, channel shuffle",
      "Zhang et al., CVPR 2018"},
     Sample::image,
     &build_shufflenet_v1},
    {{"shufflenet-v2", "shufflenet-v2-S, scale S one of 0.5, 1.0, 1.5, 2.0", "channel split and shuffle",
      "Ma et al., ECCV 2018"},
     Sample::image,
     &build_shufflenet_v2},
    {{"squeezenet-1.1", "squeezenet-1.1", "fire modules: squeeze, then expand", "Iandola et al., 2016"},
     Sample::image,
     &build_squeezenet},
    {{"xception", "xception", "depthwise separable convolutions with residual connections", "Chollet, CVPR 2017"},
     Sample::image,
     &build_xception},
    {{"densenet-bc", "densenet-bc-L-K, depth L = 6n + 4, growth rate K", "densely connected, for CIFAR",
      "Huang et al., CVPR 2017"},
     Sample::image,
     &build_densenet_bc},
    {{"densenet", "densenet-D, depth D one of 121, 169, 201", "densely connected (BC), for ImageNet",
      "Huang et al., CVPR 2017"},
     Sample::image,
     &build_densenet},
    {{"branchy-lenet", "branchy-lenet", "LeNet-5 with an exit behind its first convolution",
      "Teerapittayanon et al., ICPR 2016"},
     Sample::image,
     &build_branchy_lenet},
    {{"branchy-alexnet", "branchy-alexnet", "AlexNet for 32 x 32 pixels with exits behind its first two convolutions",
      "Teerapittayanon et al., ICPR 2016"},
     Sample::image,
     &build_branchy_alexnet},
    {{"branchy-resnet", "branchy-resnet-D, depth D = 6n + 2 (8, 14, 20 ...)",
      "ResNet for CIFAR with exits behind its first block and its first stage", "Teerapittayanon et al., ICPR 2016"},
     Sample::image,
     &build_branchy_resnet},
    {{"ddnn",
      "ddnn-V-SCORES-FEATURES, V views, fusions each one of max, average, concat (ddnn-6: ddnn-6-average-concat)",
      "devices that each see a part of the image, an exit of their fused scores, a larger network behind",
      "Teerapittayanon et al., ICDCS 2017"},
     Sample::image,
     &build_ddnn},
    {{"lstm", "lstm-U-L, L layers of U units", "classifier of sensor windows, 2 layers of 128 units or as named",
      "Hochreiter & Schmidhuber, 1997; Ordonez & Roggen, Sensors 2016"},
     Sample::window,
     &build_lstm},
    {{"gru", "gru-U-L, L layers of U units", "classifier of sensor windows, 2 layers of 128 units or as named",
      "Cho et al., EMNLP 2014"},
     Sample::window,
     &build_gru},
};

bool has_stem(std::string_view name, std::string_view stem) {
  return name.starts_with(stem) && (name.size() == stem.size() || name[stem.size()] == '-');
}

// The longest stem that the name has: "densenet-bc-100-12" is not a "densenet".
const Builder* find_builder(std::string_view name) {
  const Builder* found = nullptr;
  for (const Builder& builder : kBuilders) {
    if (!has_stem(name, builder.family.stem)) continue;
    if (found == nullptr || builder.family.stem.size() > found->family.stem.size()) found = &builder;
  }
  return found;
}

// Keeps the products of sizes in every builder far from overflow.
constexpr std::int64_t kMostPerDimension = 1 << 14;

Status check(const ModelOptions& options, Sample kind) {
  const Shape& sample = options.sample_shape;
  const auto fits = [](std::int64_t n) { return n >= 1 && n <= kMostPerDimension; };
  const bool rank_fits = kind == Sample::any     ? sample.rank() >= 1 && sample.rank() <= 3
                         : kind == Sample::image ? sample.rank() == 3
                                                 : sample.rank() == 2;
  if (!rank_fits || !std::all_of(sample.begin(), sample.end(), fits)) {
    return make_error(Code::invalid_argument,
                      "samples have shape " + to_string(sample) + ", expected " +
                          (kind == Sample::window ? "[channels, length]" : "[channels, height, width]") +
                          ", each from 1 to " + std::to_string(kMostPerDimension));
  }
  if (!fits(options.classes)) {
    return make_error(Code::invalid_argument, std::to_string(options.classes) + " classes, expected from 1 to " +
                                                  std::to_string(kMostPerDimension));
  }
  return {};
}

}  // namespace

std::span<const ModelFamily> model_families() {
  static const std::vector<ModelFamily> families = [] {
    std::vector<ModelFamily> all;
    for (const Builder& builder : kBuilders) all.push_back(builder.family);
    return all;
  }();
  return families;
}

const ModelFamily* find_family(std::string_view name) {
  const Builder* builder = find_builder(name);
  return builder == nullptr ? nullptr : &builder->family;
}

Result<Graph> build_model(std::string_view name, const ModelOptions& options) {
  const Builder* builder = find_builder(name);
  if (builder == nullptr)
    return make_error(Code::not_found,
                      "no model is called '" + std::string(name) + "'" + suggestion(name, row_names(models())));
  const std::string where = "model '" + std::string(name) + "'";
  MG_RETURN_IF_ERROR(check(options, builder->sample).context(where));
  try {
    return builder->build(Variant(name, builder->family.stem, builder->family.pattern), options).context(where);
  } catch (const std::bad_alloc&) {
    return make_error(Code::resource_exhausted,
                      where + " for samples " + to_string(options.sample_shape) + " does not fit into memory");
  }
}

}  // namespace mangrove::zoo
