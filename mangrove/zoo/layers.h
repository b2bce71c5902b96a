#pragma once

#include <string>

#include "mangrove/zoo/network_builder.h"

/// Short sequences of layers that several families share.
namespace mangrove::zoo {

/// Convolution `name` without bias, batch normalization `name.bn`, and the activation `name.relu`: "Relu", "Relu6", or
/// none where it is "".
Value conv_bn(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
              const ConvOptions& options, const std::string& activation = "Relu");

/// Batch normalization `name.bn`, `name.relu`, convolution `name` without bias: the order of pre-activation.
Value bn_relu_conv(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t channels,
                   const ConvOptions& options);

/// Global average pooling and a dense layer, "fc".
Value classifier(NetworkBuilder& network, const Value& x, std::int64_t classes,
                 const Initializer& weights = glorot_uniform());

/// b[c] = a[c] / (2 + 1e-4 sum of a^2 over 5 channels around c)^0.75.
/// source: Krizhevsky, Sutskever & Hinton, NIPS 2012, section 3.3.
Value response_normalization(NetworkBuilder& network, const std::string& name, const Value& x);

/// Channels c of g groups reordered so that each group of the next convolution reads from all of them:
/// [N, g, c / g] to [N, c / g, g].
/// source: Zhang, Zhou, Lin & Sun, ShuffleNet, CVPR 2018, section 3.1.
Value channel_shuffle(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t groups);

}  // namespace mangrove::zoo
