#include <vector>

#include "mangrove/zoo/zoo.h"

namespace mangrove::zoo {

std::span<const ModelEntry> models() {
  static const Shape mnist{1, 28, 28}, cifar{3, 32, 32}, imagenet{3, 224, 224}, window{9, 128};
  // tests/zoo/counts_test.cc builds every one and compares the counts
  static const std::vector<ModelEntry> table = {
      {"mlp", mnist, 10, 109'386, 109'184},
      {"lenet", mnist, 10, 431'080, 2'293'000},
      {"alexnet", imagenet, 1000, 60'965'224, 724'406'816},
      {"vgg-11", imagenet, 1000, 132'863'336, 7'609'090'048},
      {"vgg-16", imagenet, 1000, 138'357'544, 15'470'264'320},
      {"resnet-20", cifar, 10, 269'722, 40'551'040},
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
      {"resnet-152", imagenet, 1000, 60'192'808, 11'513'626'624},
      {"wrn-16-4", cifar, 10, 2'748'890, 392'612'352},
      {"wrn-28-10", cifar, 10, 36'479'194, 5'243'328'768},
      {"mobilenet", imagenet, 1000, 4'231'976, 568'740'352},
      {"mobilenet-0.5", imagenet, 1000, 1'331'592, 149'497'088},
      {"mobilenet-1.0-0", imagenet, 1000, 2'887'976, 307'323'392},
      {"mobilenetv2", imagenet, 1000, 3'504'872, 300'774'272},
      {"mobilenetv2-0.5", imagenet, 1000, 1'968'680, 97'131'840},
      {"shufflenet-v1-g3", imagenet, 1000, 1'865'728, 137'460'672},
      {"shufflenet-v2-0.5", imagenet, 1000, 1'366'792, 40'476'448},
      {"shufflenet-v2-1.0", imagenet, 1000, 2'278'604, 144'907'992},
      {"squeezenet-1.1", imagenet, 1000, 1'235'496, 349'151'936},
      {"xception", {3, 299, 299}, 1000, 22'855'952, 8'357'403'496},
      {"densenet-bc-100-12", cifar, 10, 769'162, 287'929'692},
      {"densenet-121", imagenet, 1000, 7'978'856, 2'834'161'664},
      {"branchy-lenet", mnist, 10, 661'146, 2'829'136},
      {"branchy-alexnet", cifar, 10, 484'926, 28'711'296},
      {"branchy-resnet-110", cifar, 10, 1'873'774, 267'569'024},
      {"ddnn-6", mnist, 10, 70'582, 376'736},
      {"lstm", window, 6, 204'038, 25'756'416},
      {"gru", window, 6, 153'222, 19'317'504},
  };
  return table;
}

}  // namespace mangrove::zoo
