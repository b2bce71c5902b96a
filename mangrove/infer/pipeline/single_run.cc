#include "mangrove/infer/pipeline/single_run.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace mangrove::infer {
namespace {

constexpr Seconds kChunkInterval = 0.1;

}  // namespace

SingleRun::SingleRun(std::uint64_t request, learn::Replica& replica, std::shared_ptr<const data::Dataset> dataset,
                     std::int64_t samples, const data::LoaderOptions& loading, const job::RoleContext& context,
                     bool with_scores)
    : replica_(replica),
      samples_(samples),
      context_(context),
      with_scores_(with_scores),
      loader_(std::move(dataset), loading) {
  replica_.execution().forward();  // touches all memory before the time counts
  chunk_.set_request(request);
  start_ = last_chunk_ = context.clock.now();
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
  context_.device.charge(replica_.flops(replica_.batch()));
  const std::vector<std::int32_t> predictions = replica_.predict(batch);
  chunk_.mutable_predictions()->Add(predictions.begin(), predictions.end());
  chunk_.mutable_truths()->Add(batch.labels.begin(), batch.labels.begin() + batch.count);
  if (with_scores_) {
    const auto outputs = replica_.execution().output<float>(replica_.graph().outputs().front());
    const auto rows = outputs.first(static_cast<std::size_t>(batch.count * replica_.classes()));
    chunk_.mutable_scores()->Add(rows.begin(), rows.end());
  }
  done_ += batch.count;
  const Instant now = context_.clock.now();
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
