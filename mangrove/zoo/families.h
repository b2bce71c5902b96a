#pragma once

#include "mangrove/zoo/variant.h"
#include "mangrove/zoo/zoo.h"

/// One function and one file per family; zoo.cc lists them. Each gives Variant::mismatch() for a name that it does not
/// know. The first convolution never depends on the sample's size.
namespace mangrove::zoo {

Result<Graph> build_mlp(const Variant& variant, const ModelOptions& options);
Result<Graph> build_lenet(const Variant& variant, const ModelOptions& options);
Result<Graph> build_alexnet(const Variant& variant, const ModelOptions& options);
Result<Graph> build_vgg(const Variant& variant, const ModelOptions& options);
Result<Graph> build_resnet(const Variant& variant, const ModelOptions& options);
Result<Graph> build_resnet_cifar(const Variant& variant, const ModelOptions& options);
Result<Graph> build_wide_resnet(const Variant& variant, const ModelOptions& options);
Result<Graph> build_mobilenet(const Variant& variant, const ModelOptions& options);
Result<Graph> build_mobilenetv2(const Variant& variant, const ModelOptions& options);
Result<Graph> build_shufflenet_v1(const Variant& variant, const ModelOptions& options);
Result<Graph> build_shufflenet_v2(const Variant& variant, const ModelOptions& options);
Result<Graph> build_squeezenet(const Variant& variant, const ModelOptions& options);
Result<Graph> build_xception(const Variant& variant, const ModelOptions& options);
Result<Graph> build_densenet(const Variant& variant, const ModelOptions& options);
Result<Graph> build_densenet_bc(const Variant& variant, const ModelOptions& options);
Result<Graph> build_lstm(const Variant& variant, const ModelOptions& options);
Result<Graph> build_gru(const Variant& variant, const ModelOptions& options);

Result<Graph> build_branchy_lenet(const Variant& variant, const ModelOptions& options);
Result<Graph> build_branchy_alexnet(const Variant& variant, const ModelOptions& options);
Result<Graph> build_branchy_resnet(const Variant& variant, const ModelOptions& options);
Result<Graph> build_ddnn(const Variant& variant, const ModelOptions& options);

}  // namespace mangrove::zoo
