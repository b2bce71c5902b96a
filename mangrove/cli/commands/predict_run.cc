#include "mangrove/cli/commands/predict_run.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "mangrove/base/clock.h"
#include "mangrove/cli/sources/batch_copy.h"
#include "mangrove/cli/sources/rewriting.h"
#include "mangrove/engine/load_parameters.h"
#include "mangrove/engine/optimize.h"
#include "mangrove/exits/early_exit.h"
#include "mangrove/exits/keeper.h"

namespace mangrove::cli {
namespace {

/// A tensor like this one, of NaN, or of 0 where its type has none.
Tensor not_a_number(const Tensor& like) {
  Tensor tensor(like.dtype(), like.shape());
  if (like.dtype() == DType::f32) std::ranges::fill(tensor.as<float>(), std::numeric_limits<float>::quiet_NaN());
  if (like.dtype() == DType::f64) std::ranges::fill(tensor.as<double>(), std::numeric_limits<double>::quiet_NaN());
  return tensor;
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
    std::vector<std::int64_t> dims = info.shape.with_batch(count).dims();
    if (axis) dims[*axis] = count;
    return Collector(name, axis, Tensor(info.dtype, Shape(std::move(dims))));
  }

  /// The outputs of samples from `first` on: as many as `read`, which says which of them there were to be computed.
  void take(Execution& execution, std::int64_t first, std::span<const Status> read) {
    Tensor batch = execution.output_tensor(name_);
    const auto is_read = [](const Status& status) { return status.ok(); };
    if (!axis_) {
      all_ = std::ranges::all_of(read, is_read) ? std::move(batch) : not_a_number(batch);
      return;
    }
    copy_samples(batch, {0, static_cast<std::int64_t>(read.size())}, all_, first, *axis_);
    for (std::size_t i = 0; i < read.size(); ++i)
      if (!read[i].ok()) copy_samples(not_a_number(batch), {0, 1}, all_, first + static_cast<std::int64_t>(i), *axis_);
  }

  std::pair<std::string, Tensor> finish() && { return {std::move(name_), std::move(all_)}; }

 private:
  Collector(std::string name, std::optional<std::size_t> axis, Tensor all)
      : name_(std::move(name)), axis_(axis), all_(std::move(all)) {}

  std::string name_;
  std::optional<std::size_t> axis_;
  Tensor all_;
};

/// Of the graph, rewritten for inference; keeps nothing of its weights but its own copy.
Result<std::unique_ptr<Execution>> execution_of(const Graph& graph, std::int64_t batch, const PredictOptions& options) {
  MG_TRY(const Graph rewritten, rewritten_for_inference(graph, options.disabled_passes));
  MG_TRY(auto program, Program::compile(rewritten.without_weights(),
                                        {.batch = batch,
                                         .backend = options.backend,
                                         .fuse = !options.disabled_passes.contains(std::string(kFusePass)),
                                         .threads = options.threads}));
  MG_TRY(auto execution, Execution::create(std::move(program), options.threads));
  MG_RETURN_IF_ERROR(load_parameters(*execution, rewritten));
  return execution;
}

using Answer = exits::EarlyExit::Answer;
using Progress = std::function<void(std::int64_t done)>;
/// One pass: reads these samples, which say which of them could be read, computes, and adds the time that this took.
using Pass = std::function<Result<std::vector<Status>>(std::span<const std::int64_t> samples)>;

/// All samples, in passes of no more than `per_pass`.
Status run_passes(const SampleSource& source, std::int64_t per_pass, const Pass& pass, const Progress& progress,
                  const std::stop_token& stop, Predictions& predictions) {
  for (std::int64_t first = 0; first < source.count(); first += per_pass) {
    if (stop.stop_requested()) return make_error(Code::cancelled, "stopped");
    const std::int64_t n = std::min(per_pass, source.count() - first);
    std::vector<std::int64_t> samples(static_cast<std::size_t>(n));
    std::iota(samples.begin(), samples.end(), first);
    MG_TRY(const std::vector<Status> read, pass(samples));
    predictions.read.insert(predictions.read.end(), read.begin(), read.end());
    progress(first + n);
  }
  return {};
}

Result<Predictions> run_with_exits(const Graph& graph, const SampleSource& source, const PredictOptions& options,
                                   const Progress& progress, const std::stop_token& stop) {
  const std::int64_t per_pass = samples_per_pass(graph, source, options.batch);
  MG_TRY(const Graph rewritten, rewritten_for_inference(graph, options.disabled_passes));
  MG_TRY(const auto network,
         exits::EarlyExit::create(rewritten, *options.exit_thresholds,
                                  {.micro_batch = per_pass,
                                   .backend = options.backend,
                                   .threads = options.threads,
                                   .fuse = !options.disabled_passes.contains(std::string(kFusePass))}));
  std::optional<exits::ExitKeeper> keeper;
  if (!options.exit_shares.empty()) keeper.emplace(*options.exit_thresholds, options.exit_shares);
  Predictions predictions;
  predictions.exit_thresholds = *options.exit_thresholds;
  predictions.left_at_exits.resize(network->exits());
  Tensor logits(DType::f32, {source.count(), network->classes()});
  const auto classes = static_cast<std::size_t>(network->classes());
  const SteadyClock clock;
  std::vector<Status> read;
  const auto compute = [&](std::span<const std::int64_t> samples) -> Result<std::span<const Answer>> {
    for (;;) {  // once more where a program was compiled
      const std::size_t compiled = network->compiled();
      const Instant start = clock.now();
      MG_TRY(Execution * execution, network->first(std::ssize(samples)));
      MG_TRY(read, source.fill(*execution, samples));
      MG_TRY(const auto answers, network->classify(std::ssize(samples)));
      if (network->compiled() != compiled) continue;
      predictions.seconds += clock.now() - start;
      return answers;
    }
  };
  const auto pass = [&](std::span<const std::int64_t> samples) -> Result<std::vector<Status>> {
    MG_TRY(const auto answers, compute(samples));
    const auto rows =
        logits.as<float>().subspan(static_cast<std::size_t>(samples[0]) * classes, answers.size() * classes);
    std::ranges::copy(network->logits(), rows.begin());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      predictions.exits.push_back(answers[i].exit);
      if (!read[i].ok()) {
        std::ranges::fill(rows.subspan(i * classes, classes), std::numeric_limits<float>::quiet_NaN());
        continue;
      }
      ++predictions.left_at_exits[static_cast<std::size_t>(answers[i].exit)];
      if (keeper) keeper->saw(network->entropies().subspan(i * network->exits(), network->exits()));
    }
    if (keeper) {
      predictions.exit_thresholds = keeper->thresholds();
      network->set_thresholds(keeper->thresholds());
    }
    return read;
  };
  MG_RETURN_IF_ERROR(run_passes(source, per_pass, pass, progress, stop, predictions));
  predictions.outputs.emplace_back(graph.outputs().back(), std::move(logits));
  return predictions;
}

}  // namespace

std::int64_t samples_per_pass(const Graph& graph, const SampleSource& source, std::int64_t wanted) {
  const bool open =
      std::ranges::any_of(graph.inputs(), [](const auto& input) { return input.second.shape.is_symbolic(); });
  if (open) return std::min(source.count(), wanted);
  return source.has_images() ? graph.inputs()[0].second.shape[0] : 1;
}

Result<Predictions> run_model(const Graph& graph, const SampleSource& source, const PredictOptions& options,
                              const Progress& progress, std::stop_token stop) {
  if (options.exit_thresholds) return run_with_exits(graph, source, options, progress, stop);
  const std::int64_t per_pass = samples_per_pass(graph, source, options.batch);
  std::vector<Collector> collectors;
  for (const std::string& name : graph.outputs()) {
    MG_TRY(Collector collector, Collector::create(graph, name, source.count(), per_pass));
    collectors.push_back(std::move(collector));
  }
  MG_TRY(const auto execution, execution_of(graph, per_pass, options));
  const SteadyClock clock;
  Predictions predictions;
  const auto pass = [&](std::span<const std::int64_t> samples) -> Result<std::vector<Status>> {
    const Instant start = clock.now();
    MG_TRY(std::vector<Status> read, source.fill(*execution, samples));
    execution->forward();
    for (Collector& collector : collectors) collector.take(*execution, samples[0], read);
    predictions.seconds += clock.now() - start;
    return read;
  };
  MG_RETURN_IF_ERROR(run_passes(source, per_pass, pass, progress, stop, predictions));
  for (Collector& collector : collectors) predictions.outputs.push_back(std::move(collector).finish());
  return predictions;
}

}  // namespace mangrove::cli
