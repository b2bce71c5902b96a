#pragma once

#include <cstdint>
#include <span>

#include "mangrove/base/random.h"

namespace mangrove::zoo {

/// How the weights of a layer start: a distribution around zero whose standard deviation is `value`, or
/// sqrt(value / fan), where the fans are the inputs that one output sums over, and the outputs that one input reaches.
struct Initializer {
  enum class Distribution { uniform, normal, truncated_normal } distribution = Distribution::uniform;
  enum class Fan { none, in, out, mean } fan = Fan::none;  // none: `value` is the deviation itself
  double value = 0;
};

/// Standard deviation sqrt(2 / (fan in + fan out)).
/// source: Glorot & Bengio, Understanding the difficulty of training deep feedforward neural networks, AISTATS 2010.
constexpr Initializer glorot_uniform() {
  return {Initializer::Distribution::uniform, Initializer::Fan::mean, 1};
}

/// Standard deviation sqrt(2 / fan in): keeps the variance of what goes forward through rectifiers.
/// source: He, Zhang, Ren & Sun, Delving deep into rectifiers, ICCV 2015, equation 10.
constexpr Initializer he_normal_fan_in() {
  return {Initializer::Distribution::normal, Initializer::Fan::in, 2};
}

/// Standard deviation sqrt(2 / fan out): keeps the variance of gradients instead. source: the same, equation 14.
constexpr Initializer he_normal_fan_out() {
  return {Initializer::Distribution::normal, Initializer::Fan::out, 2};
}

constexpr Initializer normal(double deviation) {
  return {Initializer::Distribution::normal, Initializer::Fan::none, deviation};
}

/// A normal distribution of this deviation cut at two deviations (beyond which it is drawn again), as TensorFlow's.
constexpr Initializer truncated_normal(double deviation) {
  return {Initializer::Distribution::truncated_normal, Initializer::Fan::none, deviation};
}

/// Standard deviation 1 / sqrt(fan in): Caffe's filler "xavier".
constexpr Initializer caffe_xavier() {
  return {Initializer::Distribution::uniform, Initializer::Fan::in, 1};
}

struct Fans {
  std::int64_t in = 1;
  std::int64_t out = 1;
};

void initialize(const Initializer& initializer, Fans fans, Random& random, std::span<float> weights);

/// A random orthogonal matrix of n x n: the rows of a normal one made orthonormal.
/// source: Saxe, McClelland & Ganguli, Exact solutions to the nonlinear dynamics of learning in deep linear neural
/// networks, ICLR 2014. cost: 2 n^3 flops.
void initialize_orthogonal(std::int64_t n, Random& random, std::span<float> weights);

}  // namespace mangrove::zoo
