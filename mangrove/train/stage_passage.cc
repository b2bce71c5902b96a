#include "mangrove/train/stage_passage.h"

#include <algorithm>

#include "mangrove/net/payload.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

// streams of a PartExchange
constexpr std::uint32_t kValues = 0, kGradients = 1, kTargets = 2;

/// What another device says may be anything.
std::vector<std::int32_t> classes_of(std::span<const float> floats, std::int32_t classes, std::int32_t otherwise) {
  std::vector<std::int32_t> labels;
  for (const float value : floats) {
    const bool is_class = value >= 0 && value < static_cast<float>(classes);
    labels.push_back(is_class ? static_cast<std::int32_t>(value) : otherwise);
  }
  return labels;
}

}  // namespace

std::vector<std::int64_t> divide(std::int64_t samples, std::int64_t batch, std::int64_t rows) {
  std::vector<std::int64_t> parts;
  for (; samples > 0; samples -= batch) parts.push_back((std::min(batch, samples) + rows - 1) / rows);
  return parts;
}

StagePassage::StagePassage(const Work& work, std::size_t index, const StageValues& values, const Tools& tools)
    : work_(work),
      index_(index),
      values_(values),
      tools_(tools),
      rows_(static_cast<std::size_t>(work.pipeline().micro_batch())),
      last_told_(tools.context.clock.now()) {
  for (const PipelineStage& stage : work.pipeline().stages()) ranks_.push_back(stage.rank());
  const auto rows = static_cast<std::int64_t>(rows_);
  for (const std::int64_t parts : divide(work.samples_size(), tools_.batch, rows)) {
    for (std::int64_t i = 0; i < parts; ++i)
      micro_batches_.push_back({mini_batches_, i * rows, std::min(rows, samples(mini_batches_) - i * rows)});
    ++mini_batches_;
  }
  tools_.parts.begin(work.pipeline().id(), ranks_);
}

std::int64_t StagePassage::samples(std::size_t mini_batch) const {
  const std::int64_t begin = static_cast<std::int64_t>(mini_batch) * tools_.batch;
  return std::min(tools_.batch, work_.samples_size() - begin);
}

Source::Samples StagePassage::samples_of(std::size_t mini_batch) const {
  const auto begin = work_.samples().begin() + static_cast<std::ptrdiff_t>(mini_batch) * tools_.batch;
  return {begin, begin + samples(mini_batch)};
}

/// The mini-batch's samples, and asks for the next one's.
Result<bool> StagePassage::load(std::size_t mini_batch) {
  if (batch_ && loaded_ == mini_batch) return true;
  tools_.timer.enter(StepTimer::Phase::load);
  const Source::Samples wanted = samples_of(mini_batch);
  MG_TRY(const bool are_there, tools_.samples.wait_for(wanted, work_.round(), tools_.interruption));
  if (!are_there) return false;
  MG_TRY(batch_, tools_.samples.take(wanted, work_.epoch()));
  loaded_ = mini_batch;
  const Source::Samples next(work_.next_samples().begin(), work_.next_samples().end());
  if (mini_batch + 1 < mini_batches_) {
    MG_RETURN_IF_ERROR(tools_.samples.prepare(samples_of(mini_batch + 1), work_.epoch()));
  } else if (tools_.samples.has(next) && static_cast<std::int64_t>(next.size()) <= tools_.batch) {
    MG_RETURN_IF_ERROR(tools_.samples.prepare(next, work_.next_epoch()));
  }
  return true;
}

/// Rows that pad a micro-batch repeat its samples, so that statistics of batch normalization are of real ones only.
StagePassage::Maybe<std::span<const float>> StagePassage::receive_values(std::int64_t number) {
  if (!is_first()) return receive(ranks_[index_ - 1], kValues, values_.received());
  const MicroBatch& micro_batch = micro_batches_[static_cast<std::size_t>(number)];
  MG_TRY(const bool is_loaded, load(micro_batch.mini_batch));
  if (!is_loaded) return std::optional<std::span<const float>>();
  tools_.timer.enter(StepTimer::Phase::encode);
  const std::span<const float> images = batch_->images.as<float>();
  const std::size_t width = values_.received() / rows_;
  received_.resize(values_.received());
  for (std::size_t row = 0; row < rows_; ++row) {
    const auto from = static_cast<std::size_t>(micro_batch.first) + row % static_cast<std::size_t>(micro_batch.count);
    std::copy_n(images.begin() + static_cast<std::ptrdiff_t>(from * width), width,
                received_.begin() + static_cast<std::ptrdiff_t>(row * width));
  }
  send_targets(micro_batch);
  return std::optional(std::span<const float>(received_));
}

/// As floats, which hold every label as it is: the labels of all rows; of mixed samples also the other labels, and the
/// shares.
void StagePassage::send_targets(const MicroBatch& micro_batch) {
  std::vector<float> targets(rows_, static_cast<float>(data::kPadding));
  const auto copy = [&](const auto& all, std::size_t to) {
    std::copy_n(all.begin() + micro_batch.first, micro_batch.count,
                targets.begin() + static_cast<std::ptrdiff_t>(to * rows_));
  };
  copy(batch_->labels, 0);
  if (!batch_->mix_labels.empty()) {
    targets.resize(3 * rows_, 0);
    copy(batch_->mix_labels, 1);
    copy(batch_->mix_weight, 2);
  }
  if (is_last()) {
    own_targets_.push_back(std::move(targets));
  } else {
    tools_.parts.send(ranks_.back(), kTargets, targets);
  }
}

StagePassage::Maybe<StagePassage::Targets> StagePassage::receive_targets(std::int32_t classes) {
  std::vector<float> flat;
  if (is_first()) {
    flat = std::move(own_targets_.front());
    own_targets_.pop_front();
  } else {
    MG_TRY(const auto received, receive(ranks_.front(), kTargets, 0));
    if (!received) return std::optional<Targets>();
    flat.assign(received->begin(), received->end());
  }
  const auto part = [&](std::size_t i) { return std::span<const float>(flat).subspan(i * rows_, rows_); };
  Targets targets;
  targets.labels = classes_of(part(0), classes, data::kPadding);
  if (flat.size() == rows_) return std::optional(std::move(targets));
  targets.second = classes_of(part(1), classes, 0);
  for (const float share : part(2)) targets.share.push_back(share >= 0 && share <= 1 ? share : 1);
  return std::optional(std::move(targets));
}

StagePassage::Maybe<std::span<const float>> StagePassage::receive_gradients() {
  return receive(ranks_[index_ + 1], kGradients, values_.gradient_received());
}

void StagePassage::send_values(std::span<const float> values) {
  tools_.timer.enter(StepTimer::Phase::encode);
  tools_.parts.send(ranks_[index_ + 1], kValues, values);
}

void StagePassage::send_gradients(std::span<const float> gradients) {
  tools_.timer.enter(StepTimer::Phase::encode);
  tools_.parts.send(ranks_[index_ - 1], kGradients, gradients);
}

/// elements: 0: targets, of samples that are mixed or not.
StagePassage::Maybe<std::span<const float>> StagePassage::receive(net::Rank from, std::uint32_t stream,
                                                                  std::size_t elements) {
  while (true) {
    if (const auto part = tools_.parts.take(from, stream)) {
      tools_.timer.enter(StepTimer::Phase::encode);
      const std::size_t floats = part->body().size() / sizeof(float);
      const bool fits = elements > 0 ? floats == elements : floats == rows_ || floats == 3 * rows_;
      received_.resize(floats);
      if (fits && net::read_floats(part->body(), received_).ok())
        return std::optional(std::span<const float>(received_));
      tools_.parts.refuse(from, stream);
    }
    tools_.timer.enter(StepTimer::Phase::wait);
    MG_TRY(const bool goes_on, wait(from));
    if (!goes_on) return std::optional<std::span<const float>>();
  }
}

/// False: nothing more will come.
Result<bool> StagePassage::wait(net::Rank from) {
  const Result<bool> came = tools_.parts.wait({from}, tools_.context.clock.after(tools_.patience));
  if (tools_.interruption) return false;
  if (!came.ok() && came.code() == Code::cancelled) return came.error();
  if (!came.ok()) return false;  // the leader finds out too
  if (!*came) tell_waiting(from);
  return true;
}

/// Whatever comes from the leader meanwhile means that nobody waits for this work any more.
Result<bool> StagePassage::is_interrupted(double done) {
  Result<net::Message> message = tools_.context.endpoint.recv({0}, kWorkTag, Deadline{});
  if (message.ok()) {
    tools_.interruption = std::move(*message);
    return true;
  }
  if (message.code() != Code::deadline_exceeded) return message.error();
  const Instant now = tools_.context.clock.now();
  if (now - last_told_ < tools_.patience) return false;
  last_told_ = now;
  Answer answer;
  answer.set_round(work_.round());
  answer.set_done(std::max<std::int64_t>(1, static_cast<std::int64_t>(done * work_.samples_size())));
  tools_.context.endpoint.send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0));
  return false;
}

/// Nothing has come for a while.
void StagePassage::tell_waiting(net::Rank from) {
  Answer answer;
  answer.set_round(work_.round());
  tools_.parts.describe_waiting(from, *answer.mutable_waiting());
  tools_.context.endpoint.send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0));
}

}  // namespace mangrove::train
