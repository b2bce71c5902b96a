#include "mangrove/zoo/zoo.h"

#include <algorithm>
#include <new>

#include "mangrove/base/suggestion.h"
#include "mangrove/base/table.h"
#include "mangrove/zoo/variant.h"

namespace mangrove::zoo {
namespace {

enum class Sample { any, image, window };

using Build = Result<Graph>(const Variant& variant, const ModelOptions& options);

/// A row of the table.
struct Family {
  ModelFamily names;
  Sample sample;
  Build* build;
  std::vector<ModelEntry> models;  // those that people ask for; tests/zoo/counts_test.cc compares their counts
};

}  // namespace

// A file each. They give Variant::mismatch() for a name that they do not know; the first convolution never depends on
// the sample's size.
Build build_mlp, build_lenet, build_alexnet, build_nin, build_vgg, build_resnet, build_wide_resnet, build_mobilenet,
    build_mobilenetv2, build_shufflenet_v1, build_shufflenet_v2, build_squeezenet, build_xception, build_densenet_bc,
    build_densenet, build_darknet_19, build_branchy_lenet, build_branchy_alexnet, build_branchy_resnet, build_ddnn,
    build_lstm, build_gru, build_mobilenetv3, build_efficientnet, build_convnext, build_vit;

namespace {

const std::vector<Family>& table() {
  static const Shape mnist{1, 28, 28}, cifar{3, 32, 32}, imagenet{3, 224, 224}, window{9, 128};
  static const std::vector<Family> families = {
      {{"mlp", "mlp-UNITS-UNITS...", "multi-layer perceptron, 128 and 64 ReLU units or as named",
        "MXNet's MNIST example"},
       Sample::any,
       &build_mlp,
       {{"mlp", mnist, 10, 109'386, 109'184}}},
      {{"lenet", "lenet", "LeNet-5, 20-50-500 variant with tanh", "LeCun et al., Proc. IEEE 1998"},
       Sample::image,
       &build_lenet,
       {{"lenet", mnist, 10, 431'080, 2'293'000}}},
      {{"alexnet", "alexnet", "AlexNet, the original of two groups", "Krizhevsky et al., NIPS 2012"},
       Sample::image,
       &build_alexnet,
       {{"alexnet", imagenet, 1000, 60'965'224, 724'406'816}}},
      {{"nin", "nin", "Network in Network, for CIFAR: small perceptrons in place of filters", "Lin et al., ICLR 2014"},
       Sample::image,
       &build_nin,
       {{"nin", cifar, 10, 966'986, 222'486'528}}},
      {{"vgg", "vgg-D, depth D one of 11, 13, 16, 19", "3x3 convolutions, large dense layers",
        "Simonyan & Zisserman, ICLR 2015"},
       Sample::image,
       &build_vgg,
       {{"vgg-11", imagenet, 1000, 132'863'336, 7'609'090'048},
        {"vgg-16", imagenet, 1000, 138'357'544, 15'470'264'320}}},
      {{"resnet",
        "resnet-D and resnet-D-b, D = 6n + 2 (8, 14, 20 ...); resnet-D and resnet-D-cifar, D one of 18, 34, 50, 101, "
        "152",
        "residual networks: for CIFAR (padded shortcuts; -b: projections) and for ImageNet (-cifar: 3x3 stem)",
        "He et al., CVPR 2016"},
       Sample::image,
       &build_resnet,
       {{"resnet-20", cifar, 10, 269'722, 40'551'040},
        {"resnet-32", cifar, 10, 464'154, 68'862'592},
        {"resnet-32-b", cifar, 10, 466'906, 69'124'736},
        {"resnet-44", cifar, 10, 658'586, 97'174'144},
        {"resnet-56", cifar, 10, 853'018, 125'485'696},
        {"resnet-80", cifar, 10, 1'241'882, 182'108'800},
        {"resnet-110", cifar, 10, 1'727'962, 252'887'680},
        {"resnet-110-b", cifar, 10, 1'730'714, 253'149'824},
        {"resnet-18", imagenet, 1000, 11'689'512, 1'814'073'344},
        {"resnet-34", imagenet, 1000, 21'797'672, 3'663'761'408},
        {"resnet-34-cifar", cifar, 10, 21'282'122, 1'159'402'496},
        {"resnet-50", imagenet, 1000, 25'557'032, 4'089'184'256},
        {"resnet-101", imagenet, 1000, 44'549'160, 7'801'405'440},
        {"resnet-152", imagenet, 1000, 60'192'808, 11'513'626'624}}},
      {{"wrn", "wrn-D-K, depth D = 6n + 4, widening factor K", "wide residual networks",
        "Zagoruyko & Komodakis, BMVC 2016"},
       Sample::image,
       &build_wide_resnet,
       {{"wrn-16-4", cifar, 10, 2'748'890, 392'612'352}, {"wrn-28-10", cifar, 10, 36'479'194, 5'243'328'768}}},
      {{"mobilenet", "mobilenet-W-D, width multiplier W, depth multiplier D of the five equal blocks",
        "depthwise separable convolutions (D = 0: shallow)", "Howard et al., 2017"},
       Sample::image,
       &build_mobilenet,
       {{"mobilenet", imagenet, 1000, 4'231'976, 568'740'352},
        {"mobilenet-0.5", imagenet, 1000, 1'331'592, 149'497'088},
        {"mobilenet-1.0-0", imagenet, 1000, 2'887'976, 307'323'392}}},
      {{"mobilenetv2", "mobilenetv2-W, width multiplier W", "inverted residuals, linear bottlenecks",
        "Sandler et al., CVPR 2018"},
       Sample::image,
       &build_mobilenetv2,
       {{"mobilenetv2", imagenet, 1000, 3'504'872, 300'774'272},
        {"mobilenetv2-0.5", imagenet, 1000, 1'968'680, 97'131'840}}},
      {{"shufflenet-v1", "shufflenet-v1-gG, groups G one of 1, 2, 3, 4, 8", "grouped 1x1 convolutions, channel shuffle",
        "Zhang et al., CVPR 2018"},
       Sample::image,
       &build_shufflenet_v1,
       {{"shufflenet-v1-g3", imagenet, 1000, 1'865'728, 137'460'672}}},
      {{"shufflenet-v2", "shufflenet-v2-S, scale S one of 0.5, 1.0, 1.5, 2.0", "channel split and shuffle",
        "Ma et al., ECCV 2018"},
       Sample::image,
       &build_shufflenet_v2,
       {{"shufflenet-v2-0.5", imagenet, 1000, 1'366'792, 40'476'448},
        {"shufflenet-v2-1.0", imagenet, 1000, 2'278'604, 144'907'992}}},
      {{"squeezenet-1.1", "squeezenet-1.1", "fire modules: squeeze, then expand", "Iandola et al., 2016"},
       Sample::image,
       &build_squeezenet,
       {{"squeezenet-1.1", imagenet, 1000, 1'235'496, 349'151'936}}},
      {{"xception", "xception", "depthwise separable convolutions with residual connections", "Chollet, CVPR 2017"},
       Sample::image,
       &build_xception,
       {{"xception", {3, 299, 299}, 1000, 22'855'952, 8'357'403'496}}},
      {{"densenet-bc", "densenet-bc-L-K, depth L = 6n + 4, growth rate K", "densely connected, for CIFAR",
        "Huang et al., CVPR 2017"},
       Sample::image,
       &build_densenet_bc,
       {{"densenet-bc-100-12", cifar, 10, 769'162, 287'929'692}}},
      {{"densenet", "densenet-D, depth D one of 121, 169, 201", "densely connected (BC), for ImageNet",
        "Huang et al., CVPR 2017"},
       Sample::image,
       &build_densenet,
       {{"densenet-121", imagenet, 1000, 7'978'856, 2'834'161'664}}},
      {{"darknet-19", "darknet-19", "3x3 convolutions, 1x1 ones between them; YOLOv2 begins with it",
        "Redmon & Farhadi, CVPR 2017"},
       Sample::image,
       &build_darknet_19,
       {{"darknet-19", imagenet, 1000, 20'842'376, 2'790'989'824}}},
      {{"branchy-lenet", "branchy-lenet", "LeNet-5 with an exit behind its first convolution",
        "Teerapittayanon et al., ICPR 2016"},
       Sample::image,
       &build_branchy_lenet,
       {{"branchy-lenet", mnist, 10, 661'146, 2'829'136}}},
      {{"branchy-alexnet", "branchy-alexnet", "AlexNet for 32 x 32 pixels with exits behind its first two convolutions",
        "Teerapittayanon et al., ICPR 2016"},
       Sample::image,
       &build_branchy_alexnet,
       {{"branchy-alexnet", cifar, 10, 484'926, 28'711'296}}},
      {{"branchy-resnet", "branchy-resnet-D, depth D = 6n + 2 (8, 14, 20 ...)",
        "ResNet for CIFAR with exits behind its first block and its first stage", "Teerapittayanon et al., ICPR 2016"},
       Sample::image,
       &build_branchy_resnet,
       {{"branchy-resnet-110", cifar, 10, 1'873'774, 267'569'024}}},
      {{"ddnn",
        "ddnn-V-SCORES-FEATURES, V views, fusions each one of max, average, concat (ddnn-6: ddnn-6-average-concat)",
        "devices that each see a part of the image, an exit of their fused scores, a larger network behind",
        "Teerapittayanon et al., ICDCS 2017"},
       Sample::image,
       &build_ddnn,
       {{"ddnn-6", mnist, 10, 70'582, 376'736}}},
      {{"lstm", "lstm-U-L, L layers of U units", "classifier of sensor windows, 2 layers of 128 units or as named",
        "Hochreiter & Schmidhuber, 1997; Ordonez & Roggen, Sensors 2016"},
       Sample::window,
       &build_lstm,
       {{"lstm", window, 6, 204'038, 25'756'416}}},
      {{"gru", "gru-U-L, L layers of U units", "classifier of sensor windows, 2 layers of 128 units or as named",
        "Cho et al., EMNLP 2014"},
       Sample::window,
       &build_gru,
       {{"gru", window, 6, 153'222, 19'317'504}}},
      {{"mobilenetv3", "mobilenetv3-S, S one of large, small", "inverted residuals, hard Swish, squeeze-and-excitation",
        "Howard et al., ICCV 2019"},
       Sample::image,
       &build_mobilenetv3,
       {{"mobilenetv3-large", imagenet, 1000, 5'483'032, 216'589'760},
        {"mobilenetv3-small", imagenet, 1000, 2'542'856, 56'510'400}}},
      {{"efficientnet", "efficientnet-b0", "inverted residuals, Swish, squeeze-and-excitation", "Tan & Le, ICML 2019"},
       Sample::image,
       &build_efficientnet,
       {{"efficientnet-b0", imagenet, 1000, 5'288'548, 385'814'752}}},
      {{"convnext", "convnext-S, S one of t, s, b", "depthwise 7x7 convolutions, perceptrons for each pixel",
        "Liu et al., CVPR 2022"},
       Sample::image,
       &build_convnext,
       {{"convnext-t", imagenet, 1000, 28'589'128, 4'455'531'264}}},
      {{"vit", "vit-S-P, size S one of ti, s, b, patches of P x P pixels (16 where left out)", "vision transformers",
        "Dosovitskiy et al., ICLR 2021"},
       Sample::image,
       &build_vit,
       {{"vit-ti", imagenet, 1000, 5'717'416, 1'253'683'200},
        {"vit-s", imagenet, 1000, 22'050'664, 4'598'882'304},
        {"vit-b", imagenet, 1000, 86'567'656, 17'563'828'224}}},
  };
  return families;
}

bool has_stem(std::string_view name, std::string_view stem) {
  return name.starts_with(stem) && (name.size() == stem.size() || name[stem.size()] == '-');
}

// The longest stem that the name has: "densenet-bc-100-12" is not a "densenet".
const Family* family_of(std::string_view name) {
  const Family* found = nullptr;
  for (const Family& family : table()) {
    if (!has_stem(name, family.names.stem)) continue;
    if (found == nullptr || family.names.stem.size() > found->names.stem.size()) found = &family;
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
    for (const Family& family : table()) all.push_back(family.names);
    return all;
  }();
  return families;
}

std::span<const ModelEntry> models() {
  static const std::vector<ModelEntry> models = [] {
    std::vector<ModelEntry> all;
    for (const Family& family : table()) all.insert(all.end(), family.models.begin(), family.models.end());
    return all;
  }();
  return models;
}

const ModelFamily* find_family(std::string_view name) {
  const Family* family = family_of(name);
  return family == nullptr ? nullptr : &family->names;
}

Result<Graph> build_model(std::string_view name, const ModelOptions& options) {
  const Family* family = family_of(name);
  if (family == nullptr)
    return make_error(Code::not_found,
                      "no model is called '" + std::string(name) + "'" + suggestion(name, row_names(models())));
  const std::string where = "model '" + std::string(name) + "'";
  MG_RETURN_IF_ERROR(check(options, family->sample).context(where));
  try {
    return family->build(Variant(name, family->names.stem, family->names.pattern), options).context(where);
  } catch (const std::bad_alloc&) {
    return make_error(Code::resource_exhausted,
                      where + " for samples " + to_string(options.sample_shape) + " does not fit into memory");
  }
}

Status check_model_name(std::string_view name) {
  const Family* family = family_of(name);
  ModelOptions small;  // which need not fit the model: builders look at the name first
  if (family != nullptr && family->sample == Sample::window) small.sample_shape = Shape{1, 32};
  const Result<Graph> built = build_model(name, small);
  if (!built.ok() && built.code() == Code::not_found) return built.error();
  return {};
}

}  // namespace mangrove::zoo
