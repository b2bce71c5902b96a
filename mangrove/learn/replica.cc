#include "mangrove/learn/replica.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/base/random.h"
#include "mangrove/engine/load_parameters.h"
#include "mangrove/graph/exits.h"
#include "mangrove/graph/multiply_adds.h"
#include "mangrove/learn/clip.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/learn/trainable.h"

namespace mangrove::learn {
namespace {

Error no_classifier(const Graph& graph, const std::string& what) {
  return make_error(Code::invalid_argument, "graph '" + graph.name() + "' is no classifier: " + what);
}

/// rank: 0 allows any from 2.
Status check_value(const Graph& graph, const char* role, const std::string& name, std::size_t rank,
                   const char* wanted) {
  const ValueInfo& info = graph.value(name);
  const bool rank_fits = rank == 0 ? info.shape.rank() >= 2 : info.shape.rank() == rank;
  if (info.dtype == DType::f32 && rank_fits && info.shape.batch_axis() == 0u) return {};
  return no_classifier(graph, std::string(role) + " '" + name + "' is " + dtype_name(info.dtype) + " " +
                                  to_string(info.shape) + ", expected f32 " + wanted +
                                  (info.shape.is_symbolic() ? "" : "; --input-shape with N says why a batch is fixed"));
}

/// Rows first .. first + rows - 1 of `all`, each of `width` elements; `padding` where it has no more. Empty if it is.
template <class T>
std::vector<T> rows_of(std::span<const T> all, std::int64_t first, std::int64_t rows, std::int64_t width, T padding) {
  if (all.empty()) return {};
  std::vector<T> part(static_cast<std::size_t>(rows * width), padding);
  const auto there = all.subspan(static_cast<std::size_t>(first * width));
  std::copy_n(there.begin(), std::min(part.size(), there.size()), part.begin());
  return part;
}

}  // namespace

Status check_classifier(const Graph& graph) {
  if (graph.inputs().size() != 1 || (graph.outputs().size() != 1 && !has_early_exits(graph))) {
    return no_classifier(graph, "it has " + std::to_string(graph.inputs().size()) + " inputs and " +
                                    std::to_string(graph.outputs().size()) +
                                    " outputs, expected one of each, or several outputs [N, classes] that are exits");
  }
  MG_RETURN_IF_ERROR(check_value(graph, "input", graph.inputs()[0].first, 0, "[N, ...]"));
  MG_RETURN_IF_ERROR(check_value(graph, "output", graph.outputs()[0], 2, "[N, classes]"));
  for (const auto& names : {graph.parameters(), graph.states()}) {
    for (const std::string& name : names) {
      if (graph.value(name).dtype == DType::f32) continue;
      return no_classifier(graph,
                           "parameter '" + name + "' is " + dtype_name(graph.value(name).dtype) + ", expected f32");
    }
  }
  return {};
}

Status check_single_exit(const Graph& graph) {
  MG_RETURN_IF_ERROR(check_classifier(graph));
  if (graph.outputs().size() == 1) return {};
  return make_error(Code::invalid_argument, "graph '" + graph.name() + "' has early exits ('" + graph.outputs()[0] +
                                                "' ...), which cannot be used here");
}

Status check_fits(const Graph& classifier, const data::Dataset& dataset) {
  return check_fits(classifier, dataset.sample_shape(), dataset.classes());
}

Status check_fits(const Graph& classifier, const Shape& sample, std::int64_t classes) {
  const Shape& input = classifier.inputs()[0].second.shape;
  const Shape taken(std::vector<std::int64_t>(input.begin() + 1, input.end()));
  const std::int64_t told = classifier.value(classifier.outputs()[0]).shape[1];
  if (taken == sample && told == classes) return {};
  return make_error(Code::invalid_argument, "graph '" + classifier.name() + "' takes samples " + to_string(taken) +
                                                " of " + std::to_string(told) + " classes, the data set has samples " +
                                                to_string(sample) + " of " + std::to_string(classes) + " classes");
}

Result<std::unique_ptr<Replica>> Replica::create(const Graph& graph, const ReplicaOptions& options) {
  MG_RETURN_IF_ERROR(options.mode == Mode::training ? check_trainable(graph) : check_classifier(graph));
  MG_TRY(Loss loss, Loss::create(options.loss));
  MG_TRY(std::vector<float> exit_weights, weights_of_exits(options.loss, graph.outputs().size()));
  ReplicaOptions checked = options;
  if (checked.micro_batch == 0) checked.micro_batch = options.batch;
  if (checked.micro_batch < 0 || checked.micro_batch > options.batch) {
    return make_error(Code::invalid_argument, "micro_batch: must be from 0 to the batch (" +
                                                  std::to_string(options.batch) + "), got " +
                                                  std::to_string(options.micro_batch));
  }
  CompileOptions compile;
  compile.mode = options.mode;
  compile.backend = options.backend;
  compile.threads = options.threads;
  compile.fuse = options.fuse;
  compile.timing_only = options.timing_only;
  const bool is_training = options.mode == Mode::training;
  const Graph kept = graph.without_weights();
  std::shared_ptr<const Program> program;
  std::optional<ProcessPlan> plan;
  if (is_training && options.plan) {
    plan = options.plan;
    checked.micro_batch = plan->training.micro_batch;
    program = plan->training.program;
  } else if (is_training && options.memory) {
    compile.batch = options.batch;
    MG_TRY(plan, plan_process(kept, compile, *options.memory, options.micro_batch));
    checked.micro_batch = plan->training.micro_batch;
    program = plan->training.program;
  } else {
    compile.batch = checked.micro_batch;
    compile.accumulate_gradients = is_training && checked.micro_batch < checked.batch;
    MG_TRY(program, Program::compile(kept, compile));
  }
  MG_TRY(auto execution, Execution::create(std::move(program), options.threads));
  MG_RETURN_IF_ERROR(load_parameters(*execution, graph));
  std::unique_ptr<Replica> replica(
      new Replica(kept, checked, std::move(loss), std::move(exit_weights), std::move(execution)));
  replica->plan_ = std::move(plan);
  return replica;
}

Replica::Replica(const Graph& graph, const ReplicaOptions& options, Loss loss, std::vector<float> exit_weights,
                 std::unique_ptr<Execution> execution)
    : options_(options),
      loss_(std::move(loss)),
      measured_loss_(loss_.needs_dense() ? Loss::create({}).value() : loss_.unsmoothed()),
      execution_(std::move(execution)),
      states_(graph.states()),
      outputs_(graph.outputs()),
      exit_weights_(std::move(exit_weights)) {
  input_ = graph.inputs()[0].first;
  classes_ = static_cast<std::int32_t>(graph.value(outputs_.back()).shape[1]);
  parameter_elements_ = graph.parameter_elements();
  sample_flops_ =
      2.0 * static_cast<double>(multiply_adds(graph, 1)) * (options.mode == Mode::training ? kTrainingPasses : 1);
  for (const std::string& state : states_) state_elements_ += graph.value(state).shape.elements();
  if (options.mode != Mode::training) return;
  views_ = execution_->parameters();
  for (const auto& view : views_) {
    starts_.push_back(sizes_.empty() ? 0 : starts_.back() + sizes_.back());
    sizes_.push_back(static_cast<std::size_t>(graph.value(view.name).shape.elements()));
  }
}

/// Rows `first` and on of the batch, as many as go through the network at once.
void Replica::forward(const data::Batch& batch, std::int64_t first) {
  const auto images = batch.images.as<float>();
  const auto input = execution_->input<float>(input_);
  const auto width = input.size() / static_cast<std::size_t>(options_.micro_batch);
  MG_CHECK(images.size() == width * static_cast<std::size_t>(options_.batch));
  const bool repeat = options_.mode == Mode::training && !states_.empty() && batch.count > first;
  const std::int64_t distinct = repeat ? batch.count - first : options_.batch - first;
  for (std::int64_t row = 0; row < options_.micro_batch; ++row) {
    const std::int64_t from = first + row % distinct;
    const auto image = images.subspan(static_cast<std::size_t>(from) * width, width);
    std::copy(image.begin(), image.end(), input.begin() + row * static_cast<std::ptrdiff_t>(width));
  }
  execution_->forward();
}

/// Loss of the rows that forward() took, and its gradient where backward() reads it: the weighted sum over the exits.
BatchStats Replica::add_loss(const Loss& loss, const data::Batch& batch, std::int64_t first, float scale,
                             std::span<const float> dense, bool with_gradient) {
  const auto rows = options_.micro_batch;
  const auto labels = rows_of<std::int32_t>(batch.labels, first, rows, 1, data::kPadding);
  const auto second = rows_of<std::int32_t>(batch.mix_labels, first, rows, 1, 0);
  const auto share = rows_of<float>(batch.mix_weight, first, rows, 1, 1);
  const auto targets = rows_of<float>(dense, first, rows, classes_, 0);
  const Targets wanted{.labels = labels, .second = second, .share = share, .dense = targets};
  BatchStats stats;
  for (std::size_t exit = 0; exit < outputs_.size(); ++exit) {
    const float weight = exit_weights_[exit];
    const auto gradient = with_gradient ? execution_->output_gradient<float>(outputs_[exit]) : std::span<float>();
    const BatchStats at_exit =
        loss(execution_->output<float>(outputs_[exit]), classes_, wanted, weight * scale, gradient);
    stats.loss += weight * at_exit.loss;
    stats.correct = at_exit.correct;
    stats.count = at_exit.count;
    if (exit + 1 < outputs_.size()) stats.early_correct.push_back(at_exit.correct);
  }
  return stats;
}

BatchStats Replica::compute_gradients(const data::Batch& batch, float scale, std::span<const float> dense,
                                      const std::function<void(std::size_t)>& ready) {
  MG_CHECK(options_.mode == Mode::training);
  if (options_.micro_batch < options_.batch) execution_->zero_gradients();
  BatchStats stats;
  std::int64_t first = 0;
  do {
    forward(batch, first);
    stats += add_loss(loss_, batch, first, scale, dense, /*with_gradient=*/true);
    first += options_.micro_batch;
    execution_->backward(first >= batch.count ? ready : nullptr);
  } while (first < batch.count);
  return stats;
}

BatchStats Replica::add_clipped_gradients(const data::Batch& batch, double most, std::span<float> sum) {
  MG_CHECK(options_.mode == Mode::training && options_.micro_batch == 1);
  MG_CHECK(static_cast<std::int64_t>(sum.size()) == parameter_elements_);
  std::vector<std::vector<float>> sums;  // laid out as the backend has them
  for (const auto& view : views_) sums.emplace_back(view.gradient.size());
  BatchStats stats;
  for (std::int64_t row = 0; row < batch.count; ++row) {
    if (options_.batch > 1) execution_->zero_gradients();
    forward(batch, row);
    stats += add_loss(loss_, batch, row, 1, {}, /*with_gradient=*/true);
    execution_->backward();
    double squares = 0;
    for (const auto& view : views_) squares += sum_of_squares(view.gradient);
    const auto factor = static_cast<float>(clip_factor(squares, most));
    for (std::size_t i = 0; factor > 0 && i < views_.size(); ++i) {
      const std::span<float> of_parameter = sums[i];
      const std::span<const float> gradient = views_[i].gradient;
      for (std::size_t k = 0; k < gradient.size(); ++k) of_parameter[k] += factor * gradient[k];
    }
  }
  std::vector<float> plain;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    plain.resize(sizes_[i]);
    execution_->to_plain(views_[i].name, sums[i], plain);
    for (std::size_t k = 0; k < plain.size(); ++k) sum[starts_[i] + k] += plain[k];
  }
  return stats;
}

std::vector<std::int32_t> Replica::predict(const data::Batch& batch, BatchStats* stats) {
  std::vector<std::int32_t> predictions;
  for (std::int64_t first = 0; first < batch.count; first += options_.micro_batch) {
    forward(batch, first);
    if (stats != nullptr) *stats += add_loss(measured_loss_, batch, first, 1, {}, /*with_gradient=*/false);
    const auto rows = static_cast<std::size_t>(std::min(options_.micro_batch, batch.count - first));
    const auto logits = execution_->output<float>(outputs_.back()).first(rows * static_cast<std::size_t>(classes_));
    const std::vector<std::int32_t> part = argmax_rows(logits, classes_);
    predictions.insert(predictions.end(), part.begin(), part.end());
  }
  return predictions;
}

void Replica::read_parameters(std::span<float> flat) {
  MG_CHECK(options_.mode == Mode::training && static_cast<std::int64_t>(flat.size()) == parameter_elements_);
  for (std::size_t i = 0; i < views_.size(); ++i) {
    execution_->to_plain(views_[i].name, views_[i].value, flat.first(sizes_[i]));
    flat = flat.subspan(sizes_[i]);
  }
}

void Replica::write_parameters(std::span<const float> flat) {
  MG_CHECK(options_.mode == Mode::training && static_cast<std::int64_t>(flat.size()) == parameter_elements_);
  for (std::size_t i = 0; i < views_.size(); ++i) {
    execution_->from_plain(views_[i].name, flat.first(sizes_[i]), views_[i].value);
    flat = flat.subspan(sizes_[i]);
  }
}

void Replica::read_gradients(std::span<float> flat) {
  for (std::size_t i = 0; i < views_.size(); ++i) read_gradient(i, flat);
}

void Replica::read_gradient(std::size_t parameter, std::span<float> flat) {
  MG_CHECK(options_.mode == Mode::training && static_cast<std::int64_t>(flat.size()) == parameter_elements_);
  const auto& view = views_[parameter];
  execution_->to_plain(view.name, view.gradient, flat.subspan(starts_[parameter], sizes_[parameter]));
}

void Replica::read_states(std::span<float> flat) {
  MG_CHECK(options_.mode == Mode::training && static_cast<std::int64_t>(flat.size()) == state_elements_);
  for (const std::string& name : states_) {
    const Tensor state = execution_->parameter(name);
    const auto elements = state.as<float>();
    std::copy(elements.begin(), elements.end(), flat.begin());
    flat = flat.subspan(elements.size());
  }
}

void Replica::write_states(std::span<const float> flat) {
  MG_CHECK(options_.mode == Mode::training && static_cast<std::int64_t>(flat.size()) == state_elements_);
  for (const std::string& name : states_) {
    Tensor state(DType::f32, graph().value(name).shape);
    const auto elements = state.as<float>();
    std::copy_n(flat.begin(), elements.size(), elements.begin());
    flat = flat.subspan(elements.size());
    const Status written = execution_->set_parameter(name, state);
    MG_CHECK_MSG(written.ok(), name);
  }
}

Graph Replica::trained_graph() {
  MG_CHECK(options_.mode == Mode::training);
  std::map<std::string, Tensor> trained;
  for (const auto& view : views_) trained.emplace(view.name, execution_->parameter(view.name));
  for (const std::string& state : states_) trained.emplace(state, execution_->parameter(state));
  return graph().with_initializers(trained).value();
}

std::uint64_t step_seed(std::uint64_t seed, std::int64_t step, std::int64_t rank) {
  return Random(seed).fork(static_cast<std::uint64_t>(step)).fork(static_cast<std::uint64_t>(rank)).next();
}

}  // namespace mangrove::learn
