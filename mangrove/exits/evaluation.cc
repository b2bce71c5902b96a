#include "mangrove/exits/evaluation.h"

#include <numeric>

#include "mangrove/learn/replica.h"
#include "mangrove/learn/request_all.h"

namespace mangrove::exits {
namespace {

// What is classified in one go; above a single batch, no more bytes than these.
constexpr std::size_t kMostBatches = 100;
constexpr Bytes kMostBytes = MiB(16);

/// A network, and what its answers cost.
struct Timed {
  std::unique_ptr<EarlyExit> network;
  Seconds seconds = 0;

  Result<std::span<const EarlyExit::Answer>> classify(std::int64_t count, std::span<const float> samples,
                                                      const Clock& clock) {
    for (;;) {  // once more where a program was compiled
      const std::size_t compiled = network->compiled();
      const Instant start = clock.now();
      MG_TRY(const auto answers, network->classify(count, samples));
      const Seconds took = clock.now() - start;
      if (network->compiled() != compiled) continue;
      seconds += took;
      return answers;
    }
  }
};

}  // namespace

Result<ExitEvaluation> evaluate_exits(const Graph& graph, const std::vector<float>& thresholds,
                                      const CompiledStageOptions& options, std::shared_ptr<const data::Dataset> dataset,
                                      std::shared_ptr<const data::Augmentation> augmentation, const Clock& clock,
                                      std::stop_token stop, const std::function<void(std::int64_t done)>& progress) {
  Timed with, without;
  MG_TRY(with.network, EarlyExit::create(graph, thresholds, options));
  MG_TRY(without.network, EarlyExit::create(without_early_exits(graph), {}, options));
  MG_RETURN_IF_ERROR(learn::check_fits(graph, *dataset));
  const auto classes = static_cast<std::int32_t>(with.network->classes());
  ExitEvaluation result{.confusion = learn::ConfusionMatrix(classes),
                        .whole_confusion = learn::ConfusionMatrix(classes),
                        .exits = std::vector<ExitEvaluation::Exit>(with.network->exits())};
  std::vector<std::uint32_t> samples(dataset->size());
  std::iota(samples.begin(), samples.end(), 0u);
  data::Loader loader(dataset, {.batch = options.micro_batch, .augmentation = std::move(augmentation)});
  learn::request_all(loader, samples, options.micro_batch);
  const auto width = static_cast<std::size_t>(dataset->sample_shape().elements());
  for (std::size_t done = 0; done < samples.size();) {
    if (stop.stop_requested()) return make_error(Code::cancelled, "stopped");
    std::vector<data::Batch> batches;
    for (Bytes bytes = 0; done < samples.size() && batches.size() < kMostBatches && bytes < kMostBytes;) {
      MG_TRY(batches.emplace_back(), loader.next());
      done += static_cast<std::size_t>(batches.back().count);
      bytes += batches.back().images.bytes();
    }
    const auto images = [&](const data::Batch& batch) {
      return batch.images.as<float>().first(static_cast<std::size_t>(batch.count) * width);
    };
    for (const data::Batch& batch : batches) {
      MG_TRY(const auto answers, with.classify(batch.count, images(batch), clock));
      for (std::size_t row = 0; row < answers.size(); ++row) {
        const bool correct = answers[row].predicted == batch.labels[row];
        result.confusion.add(batch.labels[row], answers[row].predicted);
        ExitEvaluation::Exit& exit = result.exits[static_cast<std::size_t>(answers[row].exit)];
        exit.samples += 1;
        exit.correct += correct ? 1 : 0;
      }
    }
    for (const data::Batch& batch : batches) {
      MG_TRY(const auto answers, without.classify(batch.count, images(batch), clock));
      for (std::size_t row = 0; row < answers.size(); ++row)
        result.whole_confusion.add(batch.labels[row], answers[row].predicted);
    }
    if (progress) progress(static_cast<std::int64_t>(done));
  }
  result.seconds = with.seconds;
  result.whole_seconds = without.seconds;
  return result;
}

}  // namespace mangrove::exits
