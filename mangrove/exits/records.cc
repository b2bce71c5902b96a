#include <algorithm>
#include <numeric>

#include "mangrove/base/median.h"
#include "mangrove/exits/tuning.h"
#include "mangrove/learn/metrics.h"
#include "mangrove/learn/replica.h"
#include "mangrove/learn/request_all.h"

namespace mangrove::exits {
namespace {

constexpr float kNobody = -1;  // leaves: no entropy is as low
constexpr int kFewestRuns = 9;
constexpr Seconds kMostSeconds = 0.3;  // of runs of one size

using Segments = std::vector<std::unique_ptr<ExitSegment>>;

/// Runs samples through all segments; each(exit, outcome, seconds) sees what comes of each.
template <class Each>
Status run_through(Segments& segments, std::int64_t count, std::span<const float> samples, const Clock& clock,
                   const Each& each) {
  std::span<const float> received = samples;
  for (std::size_t exit = 0; exit < segments.size(); ++exit) {
    const Instant start = clock.now();
    MG_TRY(const ExitSegment::Outcome outcome, segments[exit]->run(count, received, kNobody));
    each(exit, outcome, clock.now() - start);
    received = outcome.passed;
  }
  return {};
}

/// Medians of each segment for batches of this size, of the batch's first samples.
Status time_segments(Segments& segments, std::int64_t size, std::span<const float> samples, const Clock& clock,
                     ExitRecords& records) {
  std::vector<std::vector<Seconds>> times(segments.size());
  const auto keep = [&](std::size_t exit, const ExitSegment::Outcome&, Seconds took) { times[exit].push_back(took); };
  MG_RETURN_IF_ERROR(run_through(segments, size, samples, clock, keep));  // which compiles them
  for (auto& of_segment : times) of_segment.clear();
  const Instant start = clock.now();
  for (int runs = 0; runs < kFewestRuns || (runs < 100 * kFewestRuns && clock.now() - start < kMostSeconds); ++runs)
    MG_RETURN_IF_ERROR(run_through(segments, size, samples, clock, keep));
  for (std::size_t exit = 0; exit < segments.size(); ++exit) records.seconds[exit][size] = median(times[exit]);
  return {};
}

}  // namespace

Result<ExitRecords> record_exits(const Graph& graph, const CompiledStageOptions& options,
                                 std::shared_ptr<const data::Dataset> dataset,
                                 std::shared_ptr<const data::Augmentation> augmentation, const Clock& clock,
                                 std::stop_token stop, const std::function<void(std::int64_t done)>& progress) {
  MG_RETURN_IF_ERROR(learn::check_classifier(graph));
  MG_TRY(Segments segments, make_exit_segments(graph, options));
  MG_RETURN_IF_ERROR(learn::check_fits(graph, *dataset));
  if (dataset->size() == 0) return make_error(Code::invalid_argument, "the data set has no samples");
  const std::int64_t batch = std::min<std::int64_t>(options.micro_batch, dataset->size());
  ExitRecords records{.exits = segments.size(),
                      .entropies = std::vector<float>(dataset->size() * segments.size()),
                      .correct = std::vector<std::uint8_t>(dataset->size() * segments.size()),
                      .batch = batch,
                      .seconds = std::vector<std::map<std::int64_t, Seconds>>(segments.size()),
                      .passed = {}};
  for (const auto& segment : segments) records.passed.push_back(segment->passed_bytes());
  std::vector<std::uint32_t> samples(dataset->size());
  std::iota(samples.begin(), samples.end(), 0u);
  data::Loader loader(dataset, {.batch = batch, .augmentation = std::move(augmentation)});
  learn::request_all(loader, samples, batch);
  const auto width = static_cast<std::size_t>(dataset->sample_shape().elements());
  for (std::size_t done = 0; done < samples.size();) {
    if (stop.stop_requested()) return make_error(Code::cancelled, "stopped");
    MG_TRY(const data::Batch loaded, loader.next());
    const auto images = loaded.images.as<float>();
    const auto keep = [&](std::size_t exit, const ExitSegment::Outcome& outcome, Seconds) {
      const std::vector<std::int32_t> classes =
          learn::argmax_rows(outcome.logits, static_cast<std::int32_t>(segments[exit]->classes()));
      for (std::size_t row = 0; row < classes.size(); ++row) {
        const std::size_t at = (done + row) * segments.size() + exit;
        records.entropies[at] = outcome.entropies[row];
        records.correct[at] = classes[row] == loaded.labels[row] ? 1 : 0;
      }
    };
    const auto rows = [&](std::int64_t count) { return images.first(static_cast<std::size_t>(count) * width); };
    MG_RETURN_IF_ERROR(run_through(segments, loaded.count, rows(loaded.count), clock, keep));
    if (done == 0) {
      for (std::int64_t size = 1; size < batch && !stop.stop_requested(); size *= 2)
        MG_RETURN_IF_ERROR(time_segments(segments, size, rows(size), clock, records));
      MG_RETURN_IF_ERROR(time_segments(segments, batch, rows(batch), clock, records));
    }
    done += static_cast<std::size_t>(loaded.count);
    if (progress) progress(static_cast<std::int64_t>(done));
  }
  return records;
}

}  // namespace mangrove::exits
