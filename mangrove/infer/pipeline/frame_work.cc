#include "mangrove/infer/pipeline/frame_work.h"

#include <algorithm>

#include "mangrove/base/printable.h"
#include "mangrove/infer/pipeline/deadline.h"

namespace mangrove::infer {

constexpr std::size_t kMostBytes = 8'000'000;  // of the files of a micro-batch, or one of any size

FrameWork::FrameWork(const InferJob& job, job::FrameQueue& frames, std::vector<std::string> classes, std::size_t window,
                     Reports& reports)
    : has_scores_(job.frame_values()),
      micro_batch_(static_cast<std::size_t>(job.micro_batch())),
      window_(window),
      deadline_(job.deadline_s()),
      frames_(frames),
      classes_(std::move(classes)),
      reports_(reports) {}

std::optional<Command> FrameWork::next(Instant now) {
  if (!began_) began_ = now;
  while (in_flight_.size() < window_) {
    std::optional<std::uint64_t> id = in_flight_.next_again();
    if (!id) {
      // an answer that is late holds those behind it back: they are not to become many
      if (batches_.size() >= 2 * window_) return std::nullopt;
      Batch batch = collect();
      if (batch.slots.empty()) return std::nullopt;
      id = next_++;
      batches_[*id] = std::move(batch);
    }
    Batch& batch = batches_.at(*id);
    if (!expire(batch, now)) {
      in_flight_.sent(*id, now);
      return feed(*id, now);
    }
    report();
  }
  return std::nullopt;
}

/// Frames that are here.
FrameWork::Batch FrameWork::collect() {
  Batch batch;
  std::size_t bytes = 0;
  while (batch.slots.size() < micro_batch_ && bytes < kMostBytes) {
    std::optional<job::Frame> frame = frames_.pop();
    if (!frame) break;
    bytes += frame->image.size();
    batch.slots.push_back({std::move(*frame)});
  }
  return batch;
}

/// Answers what need not be sent: frames without an image, and such whose time is up. Whether that is all.
bool FrameWork::expire(Batch& batch, Instant now) {
  batch.rows.clear();
  for (std::size_t at = 0; at < batch.slots.size(); ++at) {
    Slot& slot = batch.slots[at];
    if (slot.answer) continue;
    if (!slot.frame.problem.empty()) {
      answer(slot, {.error = slot.frame.problem}, now);
    } else if (deadline_ > 0 && now - slot.frame.came >= deadline_) {
      answer(slot, {.missed = true}, now);
    } else {
      batch.rows.push_back(at);
    }
  }
  batch.is_answered = batch.rows.empty();
  return batch.is_answered;
}

Command FrameWork::feed(std::uint64_t id, Instant now) const {
  const Batch& batch = batches_.at(id);
  Command command;
  command.set_kind(Command::FEED);
  command.set_micro_batch(id);
  command.set_count(std::ssize(batch.rows));
  Seconds remaining = 0;
  for (const std::size_t row : batch.rows) {
    const job::Frame& frame = batch.slots[row].frame;
    command.add_frames(frame.image);
    remaining = std::max(remaining, deadline_ - (now - frame.came));
  }
  if (deadline_ > 0) command.set_remaining_s(std::max(remaining, kLeastRemaining));
  return command;
}

StreamWork::Taken FrameWork::look(const Predictions& predictions, Instant now) const {
  const std::uint64_t id = predictions.micro_batch();
  const auto found = batches_.find(id);
  if (found == batches_.end() || found->second.is_answered) return id < next_ ? Taken::repeated : Taken::ignored;
  const Batch& batch = found->second;
  const auto count = std::ssize(batch.rows);
  const auto is_class = [&](std::int32_t c) { return c >= 0 && c < std::ssize(classes_); };
  const bool is_whole = predictions.classes_size() == count && predictions.confidence_size() == count &&
                        std::ranges::all_of(predictions.classes(), is_class);
  const auto is_row = [&](const std::string& scores) { return scores.size() == classes_.size() * sizeof(float); };
  const bool has_right_scores =
      !has_scores_ || (predictions.scores_size() == count && std::ranges::all_of(predictions.scores(), is_row));
  const bool is_valid = predictions.missed() ? have_all_missed(batch, now) : is_whole && has_right_scores;
  return count > 0 && is_valid ? Taken::accepted : Taken::ignored;
}

/// Whether the deadline of all frames that were sent has passed.
bool FrameWork::have_all_missed(const Batch& batch, Instant now) const {
  return deadline_ > 0 && std::ranges::all_of(batch.rows, [&](std::size_t row) {
           return is_over(batch.slots[row].frame.came, deadline_, now);
         });
}

StreamWork::Taken FrameWork::take(const Predictions& predictions, Instant now) {
  const Taken taken = look(predictions, now);
  if (taken != Taken::accepted) return taken;
  const std::uint64_t id = predictions.micro_batch();
  Batch& batch = batches_.at(id);
  std::map<std::size_t, std::string> unreadable;
  for (const Unreadable& frame : predictions.unreadable()) unreadable[frame.row()] = cut_short(frame.reason());
  for (std::size_t row = 0; row < batch.rows.size(); ++row) {
    Slot& slot = batch.slots[batch.rows[row]];
    const int at = static_cast<int>(row);
    if (const auto problem = unreadable.find(row); problem != unreadable.end()) {
      answer(slot, {.error = problem->second}, now);
    } else if (predictions.missed() || (deadline_ > 0 && now - slot.frame.came > deadline_)) {
      answer(slot, {.missed = true}, now);
    } else {
      const std::int32_t c = predictions.classes(at);
      answer(slot,
             {.predicted = c, .label = classes_[static_cast<std::size_t>(c)], .confidence = predictions.confidence(at)},
             now);
      if (has_scores_) slot.scores = predictions.scores(at);
    }
  }
  in_flight_.remove(id);
  batch.is_answered = true;
  report();
  return Taken::accepted;
}

void FrameWork::answer(Slot& slot, FrameAnswer answer, Instant now) {
  // images of a folder are there before the nodes have been measured, for which they need not wait
  const bool is_late = answer.missed.has_value();
  answer.latency = now - (is_late ? slot.frame.came : std::max(slot.frame.came, began_.value_or(now)));
  answer.name = slot.frame.name;
  slot.answer = std::move(answer);
}

StreamWork::Redo FrameWork::redo(std::uint64_t micro_batch) {
  const auto found = batches_.find(micro_batch);
  if (found == batches_.end()) return Redo::too_late;
  Batch& batch = found->second;
  if (!batch.is_answered) return Redo::is_on_its_way;
  for (const std::size_t row : batch.rows) batch.slots[row].answer.reset();
  batch.is_answered = false;
  in_flight_.send_again(micro_batch);
  return Redo::again;
}

void FrameWork::count(const FrameAnswer& answer) {
  ++counts_.frames;
  if (answer.error) ++counts_.unreadable;
  if (answer.missed) ++counts_.missed;
  if (answer.predicted) counts_.latencies.push_back(answer.latency);
  if (counts_.latencies.size() > FrameCounts::kMostLatencies) counts_.latencies.pop_front();
}

/// All micro-batches from the oldest on that have their answers.
void FrameWork::report() {
  FrameAnswers told;
  std::string scores;
  while (!batches_.empty() && batches_.begin()->second.is_answered) {
    for (Slot& slot : batches_.begin()->second.slots) {
      slot.answer->frame = reported_++;
      count(*slot.answer);
      if (has_scores_ && slot.answer->predicted) scores += slot.scores;
      told.answers.push_back(*std::move(slot.answer));
    }
    batches_.erase(batches_.begin());
  }
  if (!told.answers.empty()) reports_.answers(told, std::move(scores));
}

}  // namespace mangrove::infer
