#include "mangrove/learn/replica.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/learn/metrics.h"

namespace mangrove::learn {
namespace {

Error no_classifier(const Graph& graph, const std::string& what) {
  return make_error(Code::invalid_argument, "graph '" + graph.name() + "' is no image classifier: " + what);
}

Status check_value(const Graph& graph, const char* role, const std::string& name, std::size_t rank,
                   const char* wanted) {
  const ValueInfo& info = graph.value(name);
  if (info.dtype == DType::f32 && info.shape.rank() == rank && info.shape.batch_axis() == 0u) return {};
  return no_classifier(graph, std::string(role) + " '" + name + "' is " + dtype_name(info.dtype) + " " +
                                  to_string(info.shape) + ", expected f32 " + wanted);
}

}  // namespace

Status check_classifier(const Graph& graph) {
  if (graph.inputs().size() != 1 || graph.outputs().size() != 1) {
    return no_classifier(graph, "it has " + std::to_string(graph.inputs().size()) + " inputs and " +
                                    std::to_string(graph.outputs().size()) + " outputs, expected one of each");
  }
  MG_RETURN_IF_ERROR(check_value(graph, "input", graph.inputs()[0].first, 4, "[N, C, H, W]"));
  MG_RETURN_IF_ERROR(check_value(graph, "output", graph.outputs()[0], 2, "[N, classes]"));
  for (const std::string& name : graph.parameters()) {
    if (graph.value(name).dtype == DType::f32) continue;
    return no_classifier(graph,
                         "parameter '" + name + "' is " + dtype_name(graph.value(name).dtype) + ", expected f32");
  }
  return {};
}

Status check_fits(const Graph& classifier, const data::Dataset& dataset) {
  const Shape& input = classifier.inputs()[0].second.shape;
  const Shape sample(std::vector<std::int64_t>(input.begin() + 1, input.end()));
  const std::int64_t classes = classifier.value(classifier.outputs()[0]).shape[1];
  if (sample == dataset.sample_shape() && classes == dataset.classes()) return {};
  return make_error(Code::invalid_argument,
                    "graph '" + classifier.name() + "' takes samples " + to_string(sample) + " of " +
                        std::to_string(classes) + " classes, the data set has samples " +
                        to_string(dataset.sample_shape()) + " of " + std::to_string(dataset.classes()) + " classes");
}

Result<std::unique_ptr<Replica>> Replica::create(const Graph& graph, const ReplicaOptions& options) {
  MG_RETURN_IF_ERROR(check_classifier(graph));
  CompileOptions compile;
  compile.mode = options.mode;
  compile.batch = options.batch;
  compile.backend = options.backend;
  compile.threads = options.threads;
  MG_TRY(std::shared_ptr<const Program> program, Program::compile(graph, compile));
  MG_TRY(std::unique_ptr<Execution> execution, Execution::create(std::move(program), options.threads));
  return std::unique_ptr<Replica>(new Replica(options, std::move(execution)));
}

Replica::Replica(const ReplicaOptions& options, std::unique_ptr<Execution> execution)
    : options_(options), execution_(std::move(execution)), views_(execution_->parameters()) {
  input_ = graph().inputs()[0].first;
  output_ = graph().outputs()[0];
  classes_ = static_cast<std::int32_t>(graph().value(output_).shape[1]);
  parameter_elements_ = graph().parameter_elements();
  for (const auto& view : views_) sizes_.push_back(static_cast<std::size_t>(graph().value(view.name).shape.elements()));
}

void Replica::forward(const data::Batch& batch) {
  const auto images = batch.images.as<float>();
  const auto input = execution_->input<float>(input_);
  MG_CHECK(images.size() == input.size());
  std::copy(images.begin(), images.end(), input.begin());
  execution_->forward();
}

BatchStats Replica::compute_gradients(const data::Batch& batch, float scale) {
  MG_CHECK(options_.mode == Mode::training);
  forward(batch);
  const BatchStats stats = softmax_cross_entropy(execution_->output<float>(output_), batch.labels, classes_, scale,
                                                 execution_->output_gradient<float>(output_));
  execution_->backward();
  return stats;
}

std::vector<std::int32_t> Replica::predict(const data::Batch& batch) {
  forward(batch);
  const auto rows = static_cast<std::size_t>(batch.count);
  return argmax_rows(execution_->output<float>(output_).first(rows * static_cast<std::size_t>(classes_)), classes_);
}

void Replica::read_parameters(std::span<float> flat) {
  MG_CHECK(static_cast<std::int64_t>(flat.size()) == parameter_elements_);
  for (std::size_t i = 0; i < views_.size(); ++i) {
    execution_->to_plain(views_[i].name, views_[i].value, flat.first(sizes_[i]));
    flat = flat.subspan(sizes_[i]);
  }
}

void Replica::write_parameters(std::span<const float> flat) {
  MG_CHECK(static_cast<std::int64_t>(flat.size()) == parameter_elements_);
  for (std::size_t i = 0; i < views_.size(); ++i) {
    execution_->from_plain(views_[i].name, flat.first(sizes_[i]), views_[i].value);
    flat = flat.subspan(sizes_[i]);
  }
}

void Replica::read_gradients(std::span<float> flat) {
  MG_CHECK(options_.mode == Mode::training && static_cast<std::int64_t>(flat.size()) == parameter_elements_);
  for (std::size_t i = 0; i < views_.size(); ++i) {
    execution_->to_plain(views_[i].name, views_[i].gradient, flat.first(sizes_[i]));
    flat = flat.subspan(sizes_[i]);
  }
}

Graph Replica::trained_graph() {
  std::map<std::string, Tensor> trained;
  for (const auto& view : views_) trained.emplace(view.name, execution_->parameter(view.name));
  return graph().with_initializers(trained).value();
}

}  // namespace mangrove::learn
