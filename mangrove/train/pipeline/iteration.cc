#include "mangrove/train/pipeline/iteration.h"

#include <algorithm>

#include "mangrove/net/payload.h"
#include "mangrove/train/data_parallel/all_reduce_topology.h"
#include "mangrove/train/tags.h"

namespace mangrove::train {
namespace {

// streams of a ChunkChannel
constexpr std::uint32_t kValues = 0, kGradients = 1, kTargets = 2, kSums = 3;

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

PipelineIteration::PipelineIteration(const Work& work, const StagePlace& place, const StageValues& values,
                                     const Tools& tools)
    : work_(work),
      place_(place),
      values_(values),
      tools_(tools),
      rows_(static_cast<std::size_t>(work.pipeline().micro_batch())),
      last_told_(tools.context.clock.now()) {
  const std::int64_t rows = work.pipeline().micro_batch();
  const std::vector<std::int64_t> counts = divide(work.samples_size(), tools_.batch, rows);
  mini_batches_ = counts.size();
  for (const PipelineStage& stage : work.pipeline().stages())
    stages_.push_back({ranks_of(stage), owners_of(stage, counts)});
  micro_batches_ = micro_batches_of(work.samples_size(), tools_.batch, rows);
  std::int64_t before = 0;
  for (std::size_t i = 0; i < micro_batches_.size(); ++i) {
    if (micro_batches_[i].first == 0) before = 0;
    rows_before_.push_back(before);
    if (stages_[place_.stage].owners[i] == place_.replica) before += micro_batches_[i].count;
  }
  tools_.parts.begin(work.pipeline().id(), ranks_of(work.pipeline()));
}

std::vector<Action> PipelineIteration::own(std::span<const Action> actions) const {
  return actions_of(actions, stages_[place_.stage].owners, place_.replica);
}

net::Rank PipelineIteration::rank_of(std::size_t stage, std::int64_t micro_batch) const {
  return stages_[stage].ranks[stages_[stage].owners[static_cast<std::size_t>(micro_batch)]];
}

std::int64_t PipelineIteration::samples(std::size_t mini_batch) const {
  const std::int64_t begin = static_cast<std::int64_t>(mini_batch) * tools_.batch;
  return std::min(tools_.batch, work_.samples_size() - begin);
}

/// Of the samples of a mini-batch, those of this replica's micro-batches.
Source::Samples PipelineIteration::own_samples(std::span<const std::uint32_t> mini_batch) const {
  const auto count = static_cast<std::int64_t>(mini_batch.size()), rows = static_cast<std::int64_t>(rows_);
  const auto owners = owners_of(work_.pipeline().stages(static_cast<int>(place_.stage)), divide(count, count, rows));
  Source::Samples own;
  for (std::size_t i = 0; i < mini_batch.size(); ++i)
    if (owners[i / rows_] == place_.replica) own.push_back(mini_batch[i]);
  return own;
}

Source::Samples PipelineIteration::own_samples(std::size_t mini_batch) const {
  const std::span<const std::uint32_t> all(work_.samples().data(), static_cast<std::size_t>(work_.samples_size()));
  return own_samples(
      all.subspan(mini_batch * static_cast<std::size_t>(tools_.batch), static_cast<std::size_t>(samples(mini_batch))));
}

/// This replica's samples of the mini-batch, and asks for the next one's.
Result<bool> PipelineIteration::load(std::size_t mini_batch) {
  if (batch_ && loaded_ == mini_batch) return true;
  tools_.timer.enter(StepTimer::Phase::load);
  const Source::Samples wanted = own_samples(mini_batch);
  MG_TRY(const bool are_there, tools_.samples.wait_for(wanted, work_.round(), tools_.interruption));
  if (!are_there) return false;
  MG_TRY(batch_, tools_.samples.take(wanted, work_.epoch()));
  loaded_ = mini_batch;
  const std::span<const std::uint32_t> behind(work_.next_samples().data(),
                                              static_cast<std::size_t>(work_.next_samples_size()));
  const bool is_within = mini_batch + 1 < mini_batches_;
  if (!is_within && static_cast<std::int64_t>(behind.size()) > tools_.batch) return true;
  const Source::Samples next = is_within ? own_samples(mini_batch + 1) : own_samples(behind);
  if (tools_.samples.has(next))
    MG_RETURN_IF_ERROR(tools_.samples.prepare(next, is_within ? work_.epoch() : work_.next_epoch()));
  return true;
}

/// Rows that pad a micro-batch repeat its samples, so that statistics of batch normalization are of real ones only.
PipelineIteration::Maybe<std::span<const float>> PipelineIteration::receive_values(std::int64_t number) {
  if (!is_first()) return receive(rank_of(place_.stage - 1, number), kValues, values_.received());
  const MicroBatch& micro_batch = micro_batches_[static_cast<std::size_t>(number)];
  MG_TRY(const bool is_loaded, load(micro_batch.mini_batch));
  if (!is_loaded) return std::optional<std::span<const float>>();
  tools_.timer.enter(StepTimer::Phase::encode);
  const std::span<const float> images = batch_->images.as<float>();
  const std::size_t width = values_.received() / rows_;
  received_.resize(values_.received());
  for (std::size_t row = 0; row < rows_; ++row) {
    const auto before = static_cast<std::size_t>(rows_before_[static_cast<std::size_t>(number)]);
    const auto from = before + row % static_cast<std::size_t>(micro_batch.count);
    std::copy_n(images.begin() + static_cast<std::ptrdiff_t>(from * width), width,
                received_.begin() + static_cast<std::ptrdiff_t>(row * width));
  }
  send_targets(number);
  return std::optional(std::span<const float>(received_));
}

/// As floats, which hold every label as it is: the labels of all rows; of mixed samples also the other labels, and the
/// shares.
void PipelineIteration::send_targets(std::int64_t number) {
  std::vector<float> targets(rows_, static_cast<float>(data::kPadding));
  const auto copy = [&](const auto& all, std::size_t to) {
    std::copy_n(all.begin() + rows_before_[static_cast<std::size_t>(number)],
                micro_batches_[static_cast<std::size_t>(number)].count,
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
    tools_.parts.send(rank_of(stages_.size() - 1, number), kTargets, targets);
  }
}

PipelineIteration::Maybe<PipelineIteration::Targets> PipelineIteration::receive_targets(std::int64_t number,
                                                                                        std::int32_t classes) {
  std::vector<float> flat;
  if (is_first()) {
    flat = std::move(own_targets_.front());
    own_targets_.pop_front();
  } else {
    MG_TRY(const auto received, receive(rank_of(0, number), kTargets, 0));
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

PipelineIteration::Maybe<std::span<const float>> PipelineIteration::receive_gradients(std::int64_t number) {
  return receive(rank_of(place_.stage + 1, number), kGradients, values_.gradient_received());
}

void PipelineIteration::send_values(std::int64_t number, std::span<const float> values) {
  tools_.timer.enter(StepTimer::Phase::encode);
  tools_.parts.send(rank_of(place_.stage + 1, number), kValues, values);
}

void PipelineIteration::send_gradients(std::int64_t number, std::span<const float> gradients) {
  tools_.timer.enter(StepTimer::Phase::encode);
  tools_.parts.send(rank_of(place_.stage - 1, number), kGradients, gradients);
}

/// Along a ring.
Result<bool> PipelineIteration::add_up(std::span<float> values) {
  for (const Transfer& transfer : plan_all_reduce(stages_[place_.stage].ranks, place_.replica, {}, values.size())) {
    if (transfer.range.count == 0) continue;
    const std::span<float> range = values.subspan(transfer.range.first, transfer.range.count);
    if (transfer.kind == Transfer::Kind::send || transfer.kind == Transfer::Kind::share) {
      tools_.timer.enter(StepTimer::Phase::encode);
      tools_.parts.send(transfer.peer, kSums, range);
      continue;
    }
    MG_TRY(const auto received, receive(transfer.peer, kSums, range.size()));
    if (!received) return false;
    const bool adds = transfer.kind == Transfer::Kind::add;
    for (std::size_t i = 0; i < range.size(); ++i) range[i] = (adds ? range[i] : 0) + (*received)[i];
  }
  return true;
}

/// elements: 0: targets, of samples that are mixed or not.
PipelineIteration::Maybe<std::span<const float>> PipelineIteration::receive(net::Rank from, std::uint32_t stream,
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
Result<bool> PipelineIteration::wait(net::Rank from) {
  const Result<bool> came = tools_.parts.wait({from}, tools_.context.clock.after(tools_.patience));
  if (tools_.interruption) return false;
  if (!came.ok() && came.code() == Code::cancelled) return came.error();
  if (!came.ok()) return false;  // the leader finds out too
  if (!*came) tell_waiting(from);
  return true;
}

/// Whatever comes from the leader meanwhile means that nobody waits for this work any more.
Result<bool> PipelineIteration::is_interrupted(double done) {
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
void PipelineIteration::tell_waiting(net::Rank from) {
  Answer answer;
  answer.set_round(work_.round());
  tools_.parts.describe_waiting(from, *answer.mutable_waiting());
  tools_.context.endpoint.send(0, kAnswerTag, net::begin_payload(answer.SerializeAsString(), 0));
}

}  // namespace mangrove::train
