#include "mangrove/privacy/decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/zoo/network_builder.h"

namespace mangrove::privacy {
namespace {

constexpr std::int64_t kChannels = 32;
constexpr std::int64_t kDenseChannels = 8;  // that a dense layer makes, at a quarter of the image's sides
constexpr float kLearningRate = 2e-3f;

/// With which `from` pixels become exactly `to`.
float scale_of(std::int64_t from, std::int64_t to) {
  auto scale = static_cast<float>(static_cast<double>(to) / static_cast<double>(from));
  while (std::floor(static_cast<double>(scale) * static_cast<double>(from)) < static_cast<double>(to))
    scale = std::nextafter(scale, std::numeric_limits<float>::infinity());
  return scale;
}

zoo::Value resize(zoo::NetworkBuilder& network, const zoo::Value& x, const Shape& image) {
  const float height = scale_of(x.shape[2], image[1]), width = scale_of(x.shape[3], image[2]);
  return network.apply(
      "resize", "Resize", {x},
      {{"roi", Tensor(DType::f32, Shape{0})}, {"scales", Tensor::of<float>({4}, {1, 1, height, width})}},
      {{"mode", std::string("linear")}});
}

Result<Graph> build(const Shape& values, const Shape& image, std::uint64_t seed) {
  if (image.rank() != 3)
    return make_error(Code::invalid_argument, "samples " + to_string(image) + ": expected images [C, H, W]");
  if (values.rank() != 1 && values.rank() != 3)
    return make_error(Code::unimplemented,
                      "values " + to_string(values) + ": a decoder is there for [C, H, W] and [features]");
  zoo::NetworkBuilder network("decoder", {.sample_shape = values, .classes = image.elements(), .seed = seed});
  zoo::Value x = network.input();
  if (values.rank() == 1) {
    const std::int64_t height = (image[1] + 3) / 4, width = (image[2] + 3) / 4;
    x = network.dense("dense", x, kDenseChannels * height * width);
    x = network.apply("pixels", "Reshape", {x},
                      {{"shape", Tensor::of<std::int64_t>({4}, {0, kDenseChannels, height, width})}});
  }
  const zoo::ConvOptions filter{.kernel = 3, .bias = true};
  const auto layer = [&](const std::string& name, const zoo::Value& from, std::int64_t channels) {
    return network.activation(name + ".relu", network.conv(name, from, channels, filter), "Relu");
  };
  x = layer("conv1", x, kChannels);
  x = resize(network, x, image);
  x = layer("conv2", x, kChannels);
  x = layer("conv3", x, kChannels);
  x = network.activation("sigmoid", network.conv("conv4", x, image[0], filter), "Sigmoid");
  x = network.flatten("flatten", x);
  return std::move(network).finish(x);
}

}  // namespace

Result<std::unique_ptr<Decoder>> Decoder::create(const Shape& values, const Shape& image,
                                                 const DecoderOptions& options) {
  MG_TRY(const Graph graph, build(values, image, options.seed));
  learn::ReplicaOptions replicated{.batch = options.batch, .backend = options.backend, .threads = options.threads};
  replicated.loss.name = "mse";
  MG_TRY(auto replica, learn::Replica::create(graph, replicated));
  std::vector<learn::Optimizer::Parameter> parameters;
  for (const Execution::ParameterView& view : replica->execution().parameters())
    parameters.push_back({view.value, view.gradient});
  learn::OptimizerOptions adam;
  adam.name = "adam";
  MG_TRY(learn::Optimizer optimizer, learn::Optimizer::create(adam, std::move(parameters)));
  return std::unique_ptr<Decoder>(new Decoder(options, std::move(replica), std::move(optimizer)));
}

Decoder::Decoder(const DecoderOptions& options, std::unique_ptr<learn::Replica> replica, learn::Optimizer optimizer)
    : options_(options), replica_(std::move(replica)), optimizer_(std::move(optimizer)) {
  batch_.images = Tensor(DType::f32, replica_->graph().inputs()[0].second.shape.with_batch(options.batch));
  batch_.labels.resize(static_cast<std::size_t>(options.batch));
}

/// Values of mean 0 and standard deviation 1 are easier to learn from.
void Decoder::fill(std::int64_t count, std::span<const float> values) {
  MG_CHECK(count >= 1 && count <= options_.batch);
  if (scale_ == 0) {
    double sum = 0, squares = 0;
    for (const float value : values) sum += value;
    const double mean = sum / static_cast<double>(values.size());
    for (const float value : values) squares += (value - mean) * (value - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(values.size()));
    mean_ = static_cast<float>(mean);
    scale_ = deviation > 0 ? static_cast<float>(1 / deviation) : 1;
  }
  const std::span<float> input = batch_.images.as<float>();
  MG_CHECK(std::ssize(input) * count == std::ssize(values) * options_.batch);
  std::ranges::transform(values, input.begin(), [&](float value) { return (value - mean_) * scale_; });
  for (std::int64_t row = 0; row < options_.batch; ++row)
    batch_.labels[static_cast<std::size_t>(row)] = row < count ? 0 : data::kPadding;  // without meaning but for padding
  batch_.count = count;
}

double Decoder::train(std::int64_t count, std::span<const float> values, std::span<const float> images) {
  fill(count, values);
  std::vector<float> targets(images.begin(), images.end());
  targets.resize(static_cast<std::size_t>(options_.batch) * static_cast<std::size_t>(replica_->classes()));
  const learn::BatchStats stats = replica_->compute_gradients(batch_, 1 / static_cast<float>(count), targets);
  const float left = 1 - static_cast<float>(steps_) / static_cast<float>(std::max<std::int64_t>(1, options_.steps));
  optimizer_.step(kLearningRate * std::max(0.0f, left), ++steps_, options_.threads);
  return stats.loss / static_cast<double>(count);
}

std::span<const float> Decoder::reconstruct(std::int64_t count, std::span<const float> values) {
  fill(count, values);
  replica_->predict(batch_);
  const std::string& output = replica_->graph().outputs().front();
  return replica_->execution().output<float>(output).first(static_cast<std::size_t>(count) *
                                                           static_cast<std::size_t>(replica_->classes()));
}

}  // namespace mangrove::privacy
