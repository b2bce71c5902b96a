#include "mangrove/learn/features.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "mangrove/data/wrapped.h"
#include "mangrove/engine/load_parameters.h"

namespace mangrove::learn {
namespace {

Shape without_batch(const Shape& shape) {
  return Shape(std::vector<std::int64_t>(shape.begin() + 1, shape.end()));
}

Status check_value(const Graph& graph, const std::string& name) {
  const ValueInfo& info = graph.value(name);
  if (info.dtype == DType::f32 && info.shape.rank() >= 2 && info.shape.batch_axis() == 0u) return {};
  return make_error(Code::invalid_argument, "graph '" + graph.name() + "': value '" + name + "' is " +
                                                dtype_name(info.dtype) + " " + to_string(info.shape) +
                                                ", expected f32 [N, ...]");
}

class Features final : public data::WrappedDataset {
 public:
  Features(std::shared_ptr<const data::Dataset> dataset, std::shared_ptr<FeatureExtractor> extractor)
      : WrappedDataset(std::move(dataset)), extractor_(std::move(extractor)) {}

  Shape sample_shape() const override { return extractor_->feature_shape(); }
  bool decodes() const override { return true; }
  Status read(std::uint32_t index, std::span<float> out) const override {
    std::vector<float> sample(static_cast<std::size_t>(extractor_->sample_shape().elements()));
    MG_RETURN_IF_ERROR(inner().read(index, sample));
    (*extractor_)(sample, out);
    return {};
  }

 private:
  const std::shared_ptr<FeatureExtractor> extractor_;
};

}  // namespace

Result<std::shared_ptr<FeatureExtractor>> FeatureExtractor::create(const Graph& graph, const std::string& backend,
                                                                   int threads) {
  if (graph.inputs().size() != 1 || graph.outputs().size() != 1)
    return make_error(Code::invalid_argument,
                      "graph '" + graph.name() + "' has " + std::to_string(graph.inputs().size()) + " inputs and " +
                          std::to_string(graph.outputs().size()) + " outputs, expected one of each");
  MG_RETURN_IF_ERROR(check_value(graph, graph.inputs()[0].first));
  MG_RETURN_IF_ERROR(check_value(graph, graph.outputs()[0]));
  MG_TRY(auto program, Program::compile(graph.without_weights(), {.backend = backend, .threads = threads}));
  MG_TRY(auto execution, Execution::create(std::move(program), threads));
  MG_RETURN_IF_ERROR(load_parameters(*execution, graph));
  std::shared_ptr<FeatureExtractor> extractor(new FeatureExtractor(graph, std::move(execution)));
  std::vector<float> sample(static_cast<std::size_t>(extractor->sample_.elements()));
  std::vector<float> features(static_cast<std::size_t>(extractor->features_.elements()));
  (*extractor)(sample, features);  // takes up its memory, so that plans of what else fits know of it
  return extractor;
}

FeatureExtractor::FeatureExtractor(const Graph& graph, std::unique_ptr<Execution> execution)
    : input_(graph.inputs()[0].first),
      output_(graph.outputs()[0]),
      sample_(without_batch(graph.inputs()[0].second.shape)),
      features_(without_batch(graph.value(output_).shape)),
      execution_(std::move(execution)) {}

void FeatureExtractor::operator()(std::span<const float> sample, std::span<float> features) {
  MutexLock lock(mutex_);
  const std::span<float> input = execution_->input<float>(input_);
  MG_CHECK(sample.size() == input.size());
  std::ranges::copy(sample, input.begin());
  execution_->forward();
  const std::span<const float> output = execution_->output<float>(output_);
  MG_CHECK(features.size() == output.size());
  std::ranges::copy(output, features.begin());
}

Result<std::shared_ptr<const data::Dataset>> features_of(std::shared_ptr<const data::Dataset> dataset,
                                                         std::shared_ptr<FeatureExtractor> extractor) {
  if (dataset->sample_shape() != extractor->sample_shape())
    return make_error(Code::invalid_argument, "the network takes samples " + to_string(extractor->sample_shape()) +
                                                  ", the data set has " + to_string(dataset->sample_shape()));
  return std::make_shared<const Features>(std::move(dataset), std::move(extractor));
}

}  // namespace mangrove::learn
