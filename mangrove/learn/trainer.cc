#include "mangrove/learn/trainer.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "mangrove/learn/ema.h"
#include "mangrove/learn/request_all.h"

namespace mangrove::learn {
namespace {

std::vector<Optimizer::Parameter> optimized(Replica& replica) {
  const std::vector<bool> spared = spared_from_decay(replica.graph());
  std::vector<Optimizer::Parameter> parameters;
  for (const auto& view : replica.execution().parameters())
    parameters.push_back({view.value, view.gradient, spared[parameters.size()]});
  return parameters;
}

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::create(const Graph& graph, std::shared_ptr<const data::Dataset> dataset,
                                                 const Options& options) {
  Options checked = options;
  checked.replica.mode = Mode::training;
  MG_TRY(Schedule schedule, Schedule::create(options.schedule));
  if (schedule.row().needs_total && options.total_steps < 1) {
    return make_error(Code::invalid_argument, "total_steps: schedule '" + options.schedule.name +
                                                  "' needs at least 1, got " + std::to_string(options.total_steps));
  }
  if (!(options.ema_decay >= 0 && options.ema_decay < 1)) {
    return make_error(Code::invalid_argument,
                      "ema_decay: must be from 0 to below 1, got " + std::to_string(options.ema_decay));
  }
  if (dataset->size() == 0) return make_error(Code::invalid_argument, "the data set has no samples");
  MG_TRY(std::unique_ptr<Replica> replica, Replica::create(graph, checked.replica));
  MG_RETURN_IF_ERROR(check_fits(graph, *dataset));
  MG_TRY(Optimizer optimizer, Optimizer::create(options.optimizer, optimized(*replica)));
  return std::unique_ptr<Trainer>(
      new Trainer(std::move(replica), std::move(dataset), checked, std::move(optimizer), std::move(schedule)));
}

Trainer::Trainer(std::unique_ptr<Replica> replica, std::shared_ptr<const data::Dataset> dataset, const Options& options,
                 Optimizer optimizer, Schedule schedule)
    : replica_(std::move(replica)),
      dataset_(std::move(dataset)),
      options_(options),
      views_(replica_->execution().parameters()),
      optimizer_(std::move(optimizer)),
      schedule_(std::move(schedule)) {
  if (options_.ema_decay == 0) return;
  for (const auto& view : views_) average_.emplace_back(view.value.begin(), view.value.end());
}

/// Visits these samples of the epoch, then whole epochs.
void Trainer::visit(std::vector<std::uint32_t> samples) {
  // A new loader, because an old one may still hold requests that a restore has made void.
  loader_ = std::make_unique<data::Loader>(dataset_, data::LoaderOptions{.batch = options_.replica.batch,
                                                                         .augmentation = options_.augmentation,
                                                                         .training = true,
                                                                         .seed = options_.seed});
  order_ = std::move(samples);
  visited_ = 0;
  next_epoch_ = epochs_done_;
  if (order_.empty()) return;
  request_all(*loader_, order_, options_.replica.batch, static_cast<std::uint64_t>(next_epoch_++));
  request_next_epoch();
}

std::vector<std::uint32_t> Trainer::order_of(std::int64_t epoch) const {
  return data::epoch_order(dataset_->size(), options_.seed, static_cast<std::uint64_t>(epoch));
}

/// An epoch is requested while the one before it is worked on, so that its first batches are ready when it begins.
void Trainer::request_next_epoch() {
  const std::int64_t epoch = next_epoch_++;
  request_all(*loader_, order_of(epoch), options_.replica.batch, static_cast<std::uint64_t>(epoch));
}

Result<BatchStats> Trainer::step() {
  const Instant start = clock_.now();
  if (loader_ == nullptr) visit({});
  if (visited_ == order_.size()) {
    order_ = order_of(epochs_done_);
    visited_ = 0;
    while (next_epoch_ <= epochs_done_ + 1) request_next_epoch();
  }
  MG_TRY(const data::Batch batch, loader_->next());
  replica_->seed(step_seed(options_.seed, steps_done_, 0));
  const std::span<const float> targets = targets_ ? targets_(batch) : std::span<const float>();
  const BatchStats stats = replica_->compute_gradients(batch, 1.0f / static_cast<float>(batch.count), targets);
  update_parameters();
  visited_ += static_cast<std::size_t>(batch.count);
  epoch_stats_ += stats;
  if (visited_ == order_.size()) {
    ++epochs_done_;
    epoch_stats_ = {};
  }
  train_seconds_ += clock_.now() - start;
  return stats;
}

float Trainer::learning_rate() const {
  const std::int64_t batch = options_.replica.batch, samples = dataset_->size();
  return schedule_.rate(
      options_.learning_rate,
      {.step = steps_done_, .total = options_.total_steps, .steps_per_epoch = (samples + batch - 1) / batch});
}

void Trainer::update_parameters() {
  const float rate = learning_rate();
  ++steps_done_;
  if (before_update_) before_update_();
  optimizer_.step(rate, steps_done_, replica_->execution().program().options().threads);
  if (after_update_) after_update_();
  for (std::size_t i = 0; i < average_.size(); ++i)
    ema_update(average_[i], views_[i].value, options_.ema_decay, steps_done_);
}

std::vector<float> Trainer::to_flat(const Arrays& laid_out) {
  std::vector<float> flat(static_cast<std::size_t>(replica_->parameter_elements()));
  std::span<float> rest = flat;
  for (std::size_t i = 0; i < laid_out.size(); ++i) {
    const auto size = static_cast<std::size_t>(replica_->graph().value(views_[i].name).shape.elements());
    replica_->execution().to_plain(views_[i].name, laid_out[i], rest.first(size));
    rest = rest.subspan(size);
  }
  return flat;
}

void Trainer::from_flat(std::span<const float> flat, const Arrays& laid_out) {
  for (std::size_t i = 0; i < laid_out.size(); ++i) {
    const auto size = static_cast<std::size_t>(replica_->graph().value(views_[i].name).shape.elements());
    replica_->execution().from_plain(views_[i].name, flat.first(size), laid_out[i]);
    flat = flat.subspan(size);
  }
}

Trainer::Arrays Trainer::slot(std::size_t slot) {
  Arrays arrays;
  for (std::size_t i = 0; i < views_.size(); ++i) arrays.push_back(optimizer_.slot(slot, i));
  return arrays;
}

Trainer::Arrays Trainer::average() {
  return {average_.begin(), average_.end()};
}

Graph Trainer::model() {
  Graph trained = replica_->trained_graph();
  return average_.empty() ? trained : with_flat_parameters(trained, to_flat(average())).value();
}

Result<Evaluation> Trainer::evaluate(std::shared_ptr<const data::Dataset> dataset, std::stop_token stop) {
  ReplicaOptions options = options_.replica;
  options.mode = Mode::inference;
  MG_TRY(const auto replica, Replica::create(model(), options));
  return learn::evaluate(*replica, std::move(dataset), std::move(stop), options_.augmentation);
}

Checkpoint Trainer::checkpoint() {
  Checkpoint checkpoint;
  checkpoint.parameters.resize(static_cast<std::size_t>(replica_->parameter_elements()));
  replica_->read_parameters(checkpoint.parameters);
  checkpoint.states.resize(static_cast<std::size_t>(replica_->state_elements()));
  replica_->read_states(checkpoint.states);
  for (std::size_t i = 0; i < optimizer_.slots(); ++i) checkpoint.slots.push_back(to_flat(slot(i)));
  if (!average_.empty()) checkpoint.average = to_flat(average());
  checkpoint.plateau = schedule_.plateau();
  checkpoint.step = steps_done_;
  checkpoint.epoch = epochs_done_;
  checkpoint.pending.assign(order_.begin() + static_cast<std::ptrdiff_t>(visited_), order_.end());
  checkpoint.epoch_stats = epoch_stats_;
  checkpoint.train_seconds = train_seconds_;
  checkpoint.micro_batches = {replica_->micro_batch()};
  return checkpoint;
}

Status Trainer::check_checkpoint(const Checkpoint& checkpoint) const {
  const CheckpointSizes sizes{.parameters = static_cast<std::size_t>(replica_->parameter_elements()),
                              .states = static_cast<std::size_t>(replica_->state_elements()),
                              .slots = optimizer_.slots(),
                              .average = !average_.empty()};
  MG_RETURN_IF_ERROR(check_sizes(checkpoint, sizes));
  if (!checkpoint.micro_batches.empty() && checkpoint.micro_batches[0] != replica_->micro_batch()) {
    return make_error(Code::invalid_argument, "checkpoint: its micro-batch is " +
                                                  std::to_string(checkpoint.micro_batches[0]) + ", the trainer's " +
                                                  std::to_string(replica_->micro_batch()) + "; set it in its options");
  }
  const std::uint32_t samples = dataset_->size();
  const auto outside = [samples](std::uint32_t index) { return index >= samples; };
  if (checkpoint.pending.size() > samples ||
      std::any_of(checkpoint.pending.begin(), checkpoint.pending.end(), outside)) {
    return make_error(Code::invalid_argument, "checkpoint: its pending samples do not fit a data set of " +
                                                  std::to_string(samples) + " samples");
  }
  return {};
}

Status Trainer::restore(const Checkpoint& checkpoint) {
  MG_RETURN_IF_ERROR(check_checkpoint(checkpoint));
  replica_->write_parameters(checkpoint.parameters);
  replica_->write_states(checkpoint.states);
  for (std::size_t i = 0; i < optimizer_.slots(); ++i) from_flat(checkpoint.slots[i], slot(i));
  if (!average_.empty()) from_flat(checkpoint.average, average());
  schedule_.set_plateau(checkpoint.plateau);
  steps_done_ = checkpoint.step;
  epochs_done_ = checkpoint.epoch;
  epoch_stats_ = checkpoint.epoch_stats;
  train_seconds_ = checkpoint.train_seconds;
  visit(checkpoint.pending);
  return {};
}

}  // namespace mangrove::learn
