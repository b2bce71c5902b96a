#include "mangrove/cli/predict_run.h"

#include <algorithm>
#include <optional>

#include "mangrove/base/clock.h"
#include "mangrove/cli/batch_copy.h"
#include "mangrove/engine/optimize.h"

namespace mangrove::cli {
namespace {

/// Samples of one forward pass: as the model has it, where its shapes are fixed.
std::int64_t samples_per_pass(const Graph& graph, const SampleSource& source, std::int64_t wanted) {
  const bool open =
      std::ranges::any_of(graph.inputs(), [](const auto& input) { return input.second.shape.is_symbolic(); });
  if (open) return std::min(source.count(), wanted);
  return source.has_images() ? graph.inputs()[0].second.shape[0] : 1;
}

/// An output for all samples, filled pass by pass.
class Collector {
 public:
  static Result<Collector> create(const Graph& graph, const std::string& name, std::int64_t count,
                                  std::int64_t per_pass) {
    const ValueInfo& info = graph.value(name);
    std::optional<std::size_t> axis = info.shape.batch_axis();
    // a model of fixed shapes: the first dimension is its batch
    if (!axis && info.shape.rank() > 0 && per_pass > 1 && info.shape[0] == per_pass) axis = 0;
    if (!axis && count > per_pass) {
      return make_error(Code::invalid_argument, "output '" + name + "' " + to_string(info.shape) +
                                                    " has no batch, so that all samples must go through in one pass");
    }
    std::vector<std::int64_t> dims = info.shape.dims();
    if (axis) dims[*axis] = count;
    return Collector(name, axis, Tensor(info.dtype, Shape(std::move(dims))));
  }

  void take(Execution& execution, std::int64_t first, std::int64_t n) {
    Tensor batch = execution.output_tensor(name_);
    if (axis_) {
      copy_samples(batch, {0, n}, all_, first, *axis_);
    } else {
      all_ = std::move(batch);
    }
  }

  std::pair<std::string, Tensor> finish() && { return {std::move(name_), std::move(all_)}; }

 private:
  Collector(std::string name, std::optional<std::size_t> axis, Tensor all)
      : name_(std::move(name)), axis_(axis), all_(std::move(all)) {}

  std::string name_;
  std::optional<std::size_t> axis_;
  Tensor all_;
};

}  // namespace

Result<Predictions> run_model(const Graph& graph, const SampleSource& source, const PredictOptions& options,
                              const std::function<void(std::int64_t done)>& progress, std::stop_token stop) {
  const std::int64_t per_pass = samples_per_pass(graph, source, options.batch);
  std::vector<Collector> collectors;
  for (const std::string& name : graph.outputs()) {
    MG_TRY(Collector collector, Collector::create(graph, name, source.count(), per_pass));
    collectors.push_back(std::move(collector));
  }
  MG_TRY(const Optimized optimized, optimize(graph, {.mode = Mode::inference}));
  MG_TRY(
      const auto program,
      Program::compile(optimized.graph, {.batch = per_pass, .backend = options.backend, .threads = options.threads}));
  MG_TRY(const auto execution, Execution::create(program, options.threads));
  Predictions predictions;
  const SteadyClock clock;
  const Instant start = clock.now();
  for (std::int64_t first = 0; first < source.count(); first += per_pass) {
    if (stop.stop_requested()) return make_error(Code::cancelled, "stopped");
    const std::int64_t n = std::min(per_pass, source.count() - first);
    MG_TRY(std::vector<Status> read, source.fill(*execution, first, n));
    execution->forward();
    for (Collector& collector : collectors) collector.take(*execution, first, n);
    predictions.read.insert(predictions.read.end(), read.begin(), read.end());
    progress(first + n);
  }
  predictions.seconds = clock.now() - start;
  for (Collector& collector : collectors) predictions.outputs.push_back(std::move(collector).finish());
  return predictions;
}

}  // namespace mangrove::cli
