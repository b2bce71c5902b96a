#include "mangrove/train/data_parallel/assignment.h"

#include <algorithm>
#include <utility>

#include "mangrove/train/pipeline/places.h"

namespace mangrove::train {
namespace {

/// Samples that the worker will answer with classes of; in a pipeline only the last stage has them.
std::int64_t classified_by(net::Rank rank, const Work& work) {
  if (work.kind() != Work::EVALUATE) return 0;
  if (!work.has_pipeline()) return work.samples_size();
  const auto place = place_of(work.pipeline(), rank);
  if (!place || static_cast<int>(place->stage) + 1 < work.pipeline().stages_size()) return 0;
  return samples_at(work.pipeline(), *place, work.samples_size(), work.batch());
}

}  // namespace

Assignment::Assignment(net::Rank rank, const Work& work, std::size_t answer_bytes, Encoding answer_encoding)
    : round(work.round()),
      version(work.version()),
      trains(work.kind() == Work::TRAIN || work.kind() == Work::SUM),
      body_bytes(answer_bytes),
      encoding(answer_encoding),
      samples_(work.samples_size() * std::max<std::int64_t>(1, work.passes()) + work.parts()) {
  const std::int64_t classified = classified_by(rank, work);
  predictions_ = static_cast<int>(classified);
  if (classified > 0) losses_ = static_cast<int>((work.samples_size() + work.batch() - 1) / work.batch());
}

bool Assignment::is_answered_by(const Answer& answer, int classes) const {
  const auto is_class = [&](std::int32_t c) { return c >= 0 && c < classes; };
  return answer.round() == round && answer.count() == samples_ && answer.predictions_size() == predictions_ &&
         answer.truths_size() == predictions_ && answer.losses_size() == losses_ &&
         std::ranges::all_of(answer.truths(), is_class) && std::ranges::all_of(answer.predictions(), is_class);
}

bool Assignment::take_progress(const Answer& answer) {
  const bool counts_samples = answer.done() > 0;
  if (counts_samples && answer.done() > samples_) return false;
  std::int64_t& so_far = counts_samples ? done_ : fetched;
  const std::int64_t now = counts_samples ? answer.done() : answer.fetched();
  return now > std::exchange(so_far, std::max(so_far, now));
}

}  // namespace mangrove::train
