#include "mangrove/infer/single_run.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "mangrove/base/process_cpu.h"
#include "mangrove/data/batch_rows.h"

namespace mangrove::infer {
namespace {

constexpr int kProfileRepeats = 9;
constexpr Seconds kChunkInterval = 0.1;

Seconds median(std::vector<Seconds> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// Samples [begin, begin + count) of a data set, read on this thread.
Result<data::Batch> read_batch(const data::Dataset& dataset, const data::LoaderOptions& loading, std::int64_t begin,
                               std::int64_t count) {
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(begin));
  MG_TRY(data::Batch batch, data::empty_batch(dataset, loading, indices));
  for (std::size_t first = 0; first < indices.size(); first += data::kRowBlock) {
    const std::size_t last = std::min(first + data::kRowBlock, indices.size());
    if (auto problem = data::fill_rows(dataset, loading, indices, 0, first, last, batch)) return problem->error;
  }
  return batch;
}

}  // namespace

double slowdown(int threads) {
  return std::max(1.0, threads / cpu_limit());
}

Result<Profile> profile(learn::Replica& replica, const data::Dataset& dataset, std::int64_t samples,
                        const data::LoaderOptions& loading, int threads) {
  const std::int64_t count = std::min(samples, replica.batch());
  std::vector<Seconds> reads;
  std::optional<data::Batch> batch;
  for (int i = 0; i < kProfileRepeats; ++i) {
    const std::int64_t begin = std::min(i * count, samples - count);
    const Seconds start = thread_cpu_time();
    MG_TRY(batch, read_batch(dataset, loading, begin, count));
    reads.push_back(thread_cpu_time() - start);
  }
  replica.predict(*batch);  // real samples as input, and everything warm
  Profile profile;
  const double stretched = threads == 1 ? slowdown(1) : 1;  // of several threads the pauses are in the times
  for (const NodeTime& time : replica.execution().profile_forward(kProfileRepeats)) {
    profile.add_operator_seconds(time.seconds * stretched);
  }
  profile.set_read_seconds(median(std::move(reads)) * slowdown(1));
  return profile;
}

SingleRun::SingleRun(std::uint64_t request, learn::Replica& replica, std::shared_ptr<const data::Dataset> dataset,
                     std::int64_t samples, const data::LoaderOptions& loading, const Clock& clock, bool with_scores)
    : replica_(replica),
      samples_(samples),
      clock_(clock),
      with_scores_(with_scores),
      loader_(std::move(dataset), loading) {
  replica_.execution().forward();  // touches all memory before the time counts
  chunk_.set_request(request);
  start_ = last_chunk_ = clock.now();
  request_next();
  request_next();
}

void SingleRun::request_next() {
  const std::int64_t count = std::min(replica_.batch(), samples_ - requested_);
  if (count == 0) return;
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(requested_));
  loader_.request(std::move(indices));
  requested_ += count;
}

Result<std::optional<SingleChunk>> SingleRun::step() {
  MG_TRY(const data::Batch batch, loader_.next());
  request_next();
  const std::vector<std::int32_t> predictions = replica_.predict(batch);
  chunk_.mutable_predictions()->Add(predictions.begin(), predictions.end());
  chunk_.mutable_truths()->Add(batch.labels.begin(), batch.labels.begin() + batch.count);
  if (with_scores_) {
    const auto outputs = replica_.execution().output<float>(replica_.graph().outputs().front());
    const auto rows = outputs.first(static_cast<std::size_t>(batch.count * replica_.classes()));
    chunk_.mutable_scores()->Add(rows.begin(), rows.end());
  }
  done_ += batch.count;
  const Instant now = clock_.now();
  if (!done() && now - last_chunk_ < kChunkInterval) return std::optional<SingleChunk>();
  last_chunk_ = now;
  chunk_.set_begin(done_ - chunk_.predictions_size());
  chunk_.set_seconds(now - start_);
  std::optional<SingleChunk> chunk = chunk_;
  chunk_.clear_predictions();
  chunk_.clear_truths();
  chunk_.clear_scores();
  return chunk;
}

}  // namespace mangrove::infer
