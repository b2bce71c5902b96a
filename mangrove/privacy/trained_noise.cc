#include "mangrove/privacy/trained_noise.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mangrove/data/loader.h"
#include "mangrove/engine/compiled_stage.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/replica.h"
#include "mangrove/tensor/safetensors.h"

namespace mangrove::privacy {
namespace {

constexpr double kFirstSnr = 4;     // over the wanted one
constexpr double kRate = 0.01;      // of Adam's first step, in standard deviations of the wanted noise
constexpr double kDecay = 0.9;      // of lambda
constexpr float kEpsilon = 1e-12f;  // of Adam: gradients of a network that is sure are very small

/// Node `y = x * factor + offset` in two, in place of a batch normalization in inference.
Status append_affine(const Node& norm, const Graph& graph, GraphParts& parts) {
  std::vector<std::span<const float>> given;  // scale, bias, mean, variance
  for (std::size_t i = 1; i <= 4; ++i) {
    const auto found = graph.initializers().find(norm.inputs[i]);
    if (found == graph.initializers().end() || found->second.dtype() != DType::f32)
      return make_error(Code::unimplemented, "node '" + norm.name + "' (BatchNormalization): '" + norm.inputs[i] +
                                                 "' is no f32 constant, so that it cannot be frozen");
    given.push_back(found->second.as<float>());
  }
  std::vector<std::int64_t> shape(graph.value(norm.inputs[0]).shape.rank() - 1, 1);
  shape[0] = std::ssize(given[0]);
  Tensor factor(DType::f32, Shape(shape)), offset(DType::f32, Shape(shape));
  for (std::size_t c = 0; c < given[0].size(); ++c) {
    factor.as<float>()[c] = given[0][c] / std::sqrt(given[3][c] + norm.float_or("epsilon", 1e-5f));
    offset.as<float>()[c] = given[1][c] - given[2][c] * factor.as<float>()[c];
  }
  const std::string& y = norm.outputs[0];
  parts.initializers.insert({{y + ".factor", factor}, {y + ".offset", offset}});
  parts.nodes.push_back({norm.name + ".scale", "Mul", {}, {norm.inputs[0], y + ".factor"}, {y + ".scaled"}});
  parts.nodes.push_back({norm.name, "Add", {}, {y + ".scaled", y + ".offset"}, {y}});
  return {};
}

Result<Graph> frozen(const Graph& graph) {
  MG_TRY(const Optimized optimized, optimize(graph, {.mode = Mode::inference}));  // folds most of them
  GraphParts parts = optimized.graph.parts();
  parts.nodes.clear();
  for (const Node& node : optimized.graph.nodes()) {
    if (node.op != "BatchNormalization") {
      parts.nodes.push_back(node);
      continue;
    }
    MG_RETURN_IF_ERROR(append_affine(node, optimized.graph, parts));
  }
  return Graph::create(std::move(parts));
}

double mean_square(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return squares / static_cast<double>(values.size());
}

double variance(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  return mean_square(values) - mean * mean;
}

class Training {
 public:
  Training(const LeakageData& data, const NoiseOptions& options) : data_(data), options_(options) {}

  Status prepare(const GraphHalves& halves);
  /// Of the values of one sample behind the layer.
  Shape values() const {
    const Shape& shape = behind_.images.shape();
    return Shape({shape.begin() + 1, shape.end()});
  }
  Status train(std::uint64_t stream, std::span<float> noise, const std::stop_token& stop,
               const std::function<void(std::int64_t steps)>& progress);

 private:
  Status load(data::Loader& loader);
  void step(std::int64_t number, double power, learn::Optimizer& optimizer);

  const LeakageData& data_;
  const NoiseOptions& options_;
  std::unique_ptr<CompiledStage> bottom_;
  std::unique_ptr<learn::Replica> top_;
  Execution::ParameterView noise_;
  data::Batch behind_;  // the layer
  double lambda_ = 0;
};

Status Training::prepare(const GraphHalves& halves) {
  const CompiledStageOptions stage{
      .micro_batch = options_.batch, .backend = options_.backend, .threads = options_.threads, .fuse = true};
  MG_TRY(bottom_, CompiledStage::create(halves.front, 0, halves.front.nodes().size(), stage));
  MG_TRY(const Graph noisy, with_noise(halves.back));
  MG_TRY(top_, learn::Replica::create(
                   noisy, {.batch = options_.batch, .backend = options_.backend, .threads = options_.threads}));
  const auto views = top_->execution().parameters();
  noise_ = *std::ranges::find(views, kNoiseParameter, &Execution::ParameterView::name);
  behind_.images = Tensor(DType::f32, noisy.inputs()[0].second.shape.with_batch(options_.batch));
  return {};
}

/// The values of the next batch behind the layer.
Status Training::load(data::Loader& loader) {
  MG_TRY(data::Batch batch, loader.next());
  const std::span<float> input = bottom_->input(batch.count);
  std::ranges::copy(batch.images.as<float>().first(input.size()), input.begin());
  std::ranges::copy(bottom_->run(batch.count), behind_.images.as<float>().begin());
  behind_.labels = std::move(batch.labels);
  behind_.count = batch.count;
  return {};
}

void Training::step(std::int64_t number, double power, learn::Optimizer& optimizer) {
  top_->compute_gradients(behind_, 1 / static_cast<float>(behind_.count));
  const bool is_weak = power / variance(top_->execution().parameter(kNoiseParameter).as<float>()) > options_.snr;
  const double pull = std::sqrt(mean_square(top_->execution().gradient(kNoiseParameter).as<float>()));
  lambda_ = is_weak ? pull : kDecay * lambda_;
  for (std::size_t i = 0; i < noise_.value.size(); ++i)
    if (noise_.value[i] != 0)  // padding of the layout stays 0
      noise_.gradient[i] -= std::copysign(static_cast<float>(lambda_), noise_.value[i]);
  const double left = 1 - static_cast<double>(number) / static_cast<double>(options_.steps);
  optimizer.step(static_cast<float>(kRate * left * std::sqrt(power / options_.snr)), number + 1, options_.threads);
}

Status Training::train(std::uint64_t stream, std::span<float> noise, const std::stop_token& stop,
                       const std::function<void(std::int64_t steps)>& progress) {
  Random random = Random(options_.seed).fork(stream);
  const std::uint64_t order_seed = random.next();
  data::Loader loader(data_.training, {.batch = options_.batch, .augmentation = data_.preparation});
  const auto batch = static_cast<std::size_t>(std::min<std::int64_t>(options_.batch, data_.training->size()));
  std::vector<std::uint32_t> order;
  std::uint64_t epoch = 0;
  const auto request = [&] {
    if (order.size() < batch) order = data::epoch_order(data_.training->size(), order_seed, epoch++);
    loader.request({order.end() - static_cast<std::ptrdiff_t>(batch), order.end()});
    order.resize(order.size() - batch);
  };
  request();
  MG_RETURN_IF_ERROR(load(loader));
  const double power = mean_square(behind_.images.as<float>().first(batch * noise.size()));
  const double scale = std::sqrt(power / (2 * kFirstSnr * options_.snr));  // Laplace(0, b) has variance 2 b^2
  for (float& value : noise) value = static_cast<float>(laplace(random, scale));
  Tensor first(DType::f32, top_->graph().value(kNoiseParameter).shape);
  std::ranges::copy(noise, first.as<float>().begin());
  MG_RETURN_IF_ERROR(top_->execution().set_parameter(kNoiseParameter, first));
  learn::OptimizerOptions adam{.name = "adam", .epsilon = kEpsilon};
  MG_TRY(learn::Optimizer optimizer, learn::Optimizer::create(adam, {{noise_.value, noise_.gradient}}));
  for (std::int64_t number = 0; number < options_.steps; ++number) {
    if (stop.stop_requested()) return make_error(Code::cancelled, "stopped");
    if (number + 1 < options_.steps) request();
    step(number, power, optimizer);
    if (number + 1 < options_.steps) MG_RETURN_IF_ERROR(load(loader));
    if (progress) progress(static_cast<std::int64_t>(stream) * options_.steps + number + 1);
  }
  std::ranges::copy(top_->execution().parameter(kNoiseParameter).as<float>(), noise.begin());
  return {};
}

}  // namespace

Result<Tensor> train_noise(const Graph& graph, const std::string& layer, const LeakageData& data,
                           const NoiseOptions& options, std::stop_token stop,
                           const std::function<void(std::int64_t steps)>& progress) {
  MG_RETURN_IF_ERROR(learn::check_single_exit(graph));
  MG_RETURN_IF_ERROR(learn::check_fits(graph, *data.training));
  if (data.training->size() == 0) return make_error(Code::invalid_argument, "there are no training images");
  MG_TRY(const GraphHalves halves, split_for_privacy(graph, layer));
  Training training(data, options);
  MG_RETURN_IF_ERROR(training.prepare(halves));
  std::vector<std::int64_t> shape = training.values().dims();
  shape.insert(shape.begin(), options.tensors);
  Tensor collection(DType::f32, Shape(shape));
  const auto width = static_cast<std::size_t>(training.values().elements());
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.tensors); ++i)
    MG_RETURN_IF_ERROR(training.train(i, collection.as<float>().subspan(i * width, width), stop, progress));
  return collection;
}

Result<Graph> with_noise(const Graph& back) {
  MG_TRY(const Graph constant, frozen(back));
  GraphParts parts = constant.parts();
  const auto& [input, info] = parts.inputs[0];
  const std::string noisy = input + ".noisy";
  for (Node& node : parts.nodes) std::ranges::replace(node.inputs, input, noisy);
  parts.nodes.push_back({noisy, "Add", {}, {input, kNoiseParameter}, {noisy}});
  parts.initializers.emplace(kNoiseParameter, Tensor(DType::f32, info.shape.with_batch(1)));
  return Graph::create(std::move(parts));
}

Result<Tensor> noise_of(std::string_view file, const PrivacySetting& privacy, const Graph& bottom) {
  if (privacy.trained.empty()) return Tensor();
  const std::string where = "privacy: trained=" + privacy.trained;
  MG_TRY(const TensorFile collections, parse_safetensors(file).context(where));
  const auto found = collections.tensors.find(privacy.layer);
  if (found == collections.tensors.end()) {
    std::string layers;
    for (const auto& [layer, noise] : collections.tensors) layers += (layers.empty() ? "'" : ", '") + layer + "'";
    return make_error(Code::not_found, where + ": no noise for layer '" + privacy.layer + "', only for " +
                                           (layers.empty() ? "none" : layers));
  }
  const Tensor& noise = found->second;
  const auto wrong = [&](const std::string& what) {
    return make_error(Code::invalid_argument, where + ": noise for layer '" + privacy.layer + "' " + what);
  };
  const Shape& shape = noise.shape();
  const Shape& sent = bottom.value(bottom.outputs()[0]).shape;
  if (noise.dtype() != DType::f32 || shape.rank() != sent.rank() || shape[0] < 1 || sent.with_batch(shape[0]) != shape)
    return wrong("is " + std::string(dtype_name(noise.dtype())) + " " + to_string(shape) + ", expected f32 " +
                 to_string(sent));
  if (!std::ranges::all_of(noise.as<float>(), [](float value) { return std::isfinite(value); }))
    return wrong("has values that are no numbers");
  return noise;
}

}  // namespace mangrove::privacy
