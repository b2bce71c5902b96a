#include "mangrove/infer/pipeline/dataset_work.h"

#include <algorithm>

#include "mangrove/infer/pipeline/deadline.h"

namespace mangrove::infer {

DatasetWork::DatasetWork(const InferJob& job, const Hello& data, std::size_t window, Reports& reports)
    : samples_(data.samples()),
      classes_(data.classes_size()),
      deadline_(job.deadline_s()),
      phase_(job.strategy()),
      reports_(reports),
      micro_batches_(data.samples(), job.micro_batch(), window),
      first_sent_(micro_batches_.size()) {
  answers_.predictions.assign(static_cast<std::size_t>(samples_), -1);
  answers_.truths.assign(static_cast<std::size_t>(samples_), -1);
  answers_.deliveries.assign(static_cast<std::size_t>(samples_), 0);
  answers_.latencies.resize(micro_batches_.size());
}

std::optional<Command> DatasetWork::next(Instant now) {
  while (const auto part = micro_batches_.send_next(now)) {
    std::optional<Instant>& first = first_sent_[part->id];
    if (!first) first = now;
    if (deadline_ <= 0 || *first + deadline_ > now) return feed(*part, now);
    write(*part, nullptr, now);  // it was lost, and an answer would come too late
  }
  return std::nullopt;
}

Command DatasetWork::feed(const MicroBatches::Part& part, Instant now) const {
  Command command;
  command.set_kind(Command::FEED);
  command.set_micro_batch(part.id);
  command.set_begin(part.begin);
  command.set_count(part.count);
  if (deadline_ > 0) command.set_remaining_s(std::max(kLeastRemaining, *first_sent_[part.id] + deadline_ - now));
  return command;
}

bool DatasetWork::valid(const Predictions& predictions, Instant now) const {
  const auto is_class = [&](std::int32_t c) { return c >= 0 && c < classes_; };
  if (!micro_batches_.exists(predictions.micro_batch())) return false;
  if (predictions.missed()) return deadline_ > 0 && is_over(first_sent_[predictions.micro_batch()], deadline_, now);
  const std::int64_t count = micro_batches_.part(predictions.micro_batch()).count;
  return predictions.classes_size() == count && predictions.truths_size() == count &&
         std::ranges::all_of(predictions.classes(), is_class) && std::ranges::all_of(predictions.truths(), is_class);
}

StreamWork::Taken DatasetWork::look(const Predictions& predictions, Instant now) const {
  if (!valid(predictions, now)) return Taken::ignored;
  return micro_batches_.is_answered(predictions.micro_batch()) ? Taken::repeated : Taken::accepted;
}

StreamWork::Taken DatasetWork::take(const Predictions& predictions, Instant now) {
  const Taken taken = look(predictions, now);
  if (taken == Taken::accepted) write(micro_batches_.part(predictions.micro_batch()), &predictions, now);
  return taken;
}

StreamWork::Redo DatasetWork::redo(std::uint64_t micro_batch) {
  if (!micro_batches_.is_answered(micro_batch)) return Redo::is_on_its_way;
  const MicroBatches::Part part = micro_batches_.part(micro_batch);
  micro_batches_.redo(micro_batch);
  if (answers_.predictions[static_cast<std::size_t>(part.begin)] < 0) answers_.missed -= part.count;
  first_sent_[micro_batch].reset();
  answers_.latencies[micro_batch].reset();
  for (std::int64_t i = 0; i < part.count; ++i) {
    const auto sample = static_cast<std::size_t>(part.begin + i);
    answers_.predictions[sample] = -1;
    --answers_.deliveries[sample];
  }
  answered_ -= part.count;
  return Redo::again;
}

/// predictions: null: there are none.
void DatasetWork::write(const MicroBatches::Part& part, const Predictions* predictions, Instant now) {
  micro_batches_.answer(part.id);
  const Seconds latency = now - first_sent_[part.id].value_or(now);
  const bool is_missed = predictions == nullptr || predictions->missed() || (deadline_ > 0 && latency > deadline_);
  for (std::int64_t i = 0; i < part.count; ++i) {
    const auto sample = static_cast<std::size_t>(part.begin + i);
    if (!is_missed) answers_.predictions[sample] = predictions->classes(static_cast<int>(i));
    if (!is_missed) answers_.truths[sample] = predictions->truths(static_cast<int>(i));
    ++answers_.deliveries[sample];
  }
  if (is_missed) answers_.missed += part.count;
  if (!is_missed) answers_.latencies[part.id] = latency;
  answered_ += part.count;
  if (throttle_.passes(now, is_done()))
    reports_.progress(phase_.c_str(), answered_, samples_, per_second(answered_, now - start_));
}

}  // namespace mangrove::infer
