#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/zoo/variant.h"
#include "mangrove/zoo/zoo.h"

/// All families, in the order of `mangrove model list`. Each is the name of a function that makes the family's row. It
/// is in the file of the family.
#define MG_FAMILIES                                                                                                  \
  mlp, lenet, alexnet, nin, vgg, resnet, wide_resnet, mobilenet, mobilenetv2, shufflenet_v1, shufflenet_v2,          \
      squeezenet, xception, densenet_bc, densenet, darknet_19, branchy_lenet, branchy_alexnet, branchy_resnet, ddnn, \
      lstm, gru, mobilenetv3, efficientnet, convnext, vit

namespace mangrove::zoo {

/// The samples that networks take: images [C, H, W], windows of sensor channels [C, T], or either.
enum class Sample : std::uint8_t { any, image, window };

/// A row of the table: networks that are built by one function.
struct Family {
  ModelFamily names;
  Sample sample;
  /// errors: Variant::mismatch() for a name that it does not know; invalid_argument for a sample that does not fit. The
  /// first layers never depend on the sample's size.
  Result<Graph> (*build)(const Variant& variant, const ModelOptions& options);
  std::vector<ModelEntry> models;  // those that people ask for; tests/zoo/counts_test.cc compares their counts
};

namespace rows {

using MakeRow = Family();
MakeRow MG_FAMILIES;
inline constexpr MakeRow* kAll[] = {MG_FAMILIES};

}  // namespace rows
}  // namespace mangrove::zoo
