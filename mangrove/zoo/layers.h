#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

/// x times its sigmoid, "Swish". source: Ramachandran, Zoph & Le, Searching for activation functions, 2017.
Value swish(NetworkBuilder& network, const std::string& name, const Value& x);

/// x times the share of a normal distribution that lies below it.
/// source: Hendrycks & Gimpel, Gaussian error linear units, 2016.
Value gelu(NetworkBuilder& network, const std::string& name, const Value& x);

/// How squeeze-and-excitation bends what it computes: in the middle, and at its end, where it becomes a factor.
struct ExcitationOptions {
  std::int64_t squeezed;  // channels in the middle
  bool is_hard = false;  // Relu and a sigmoid in three straight pieces, as MobileNetV3 has them; else Swish and Sigmoid
};

/// Each channel of x [N, C, H, W] times a factor that two 1x1 convolutions with bias compute from the means of all.
/// source: Hu, Shen & Sun, Squeeze-and-excitation networks, CVPR 2018.
Value squeeze_and_excite(NetworkBuilder& network, const std::string& name, const Value& x,
                         const ExcitationOptions& options);

/// The last dimension of x [N, T, C] to mean 0 and variance 1 (epsilon as given), then scaled and shifted.
/// source: Ba, Kiros & Hinton, Layer normalization, 2016.
Value layer_norm(NetworkBuilder& network, const std::string& name, const Value& x, float epsilon);

/// The last dimension of x [N, ..., C] to `outputs`, with bias. Weights are [C, outputs].
Value linear(NetworkBuilder& network, const std::string& name, const Value& x, std::int64_t outputs,
             const Initializer& weights);

/// x under another shape, in which 0 keeps a dimension and -1 is what is left.
Value reshape(NetworkBuilder& network, const std::string& name, const Value& x, const std::vector<std::int64_t>& shape);
Value transpose(NetworkBuilder& network, const std::string& name, const Value& x, std::vector<std::int64_t> order);

/// The nearest multiple of 8 to `channels`, at least 8, and no more than 10 % below it, as the authors of MobileNetV2,
/// MobileNetV3 and EfficientNet round.
std::int64_t multiple_of_8(double channels);

}  // namespace mangrove::zoo
