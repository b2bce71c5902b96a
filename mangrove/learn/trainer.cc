#include "mangrove/learn/trainer.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

namespace mangrove::learn {
namespace {

/// Asks the loader for these samples, in batches of `batch`; the last one may be smaller.
void request_all(data::Loader& loader, const std::vector<std::uint32_t>& samples, std::int64_t batch) {
  for (auto first = samples.begin(); first != samples.end();) {
    const auto last = first + std::min<std::ptrdiff_t>(batch, samples.end() - first);
    loader.request({first, last});
    first = last;
  }
}

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::create(const Graph& graph, std::shared_ptr<const data::Dataset> dataset,
                                                 const Options& options) {
  Options checked = options;
  checked.replica.mode = Mode::training;
  if (options.schedule == Schedule::cosine && options.total_steps < 1) {
    return make_error(Code::invalid_argument,
                      "total_steps: cosine needs at least 1, got " + std::to_string(options.total_steps));
  }
  if (dataset->size() == 0) return make_error(Code::invalid_argument, "the data set has no samples");
  MG_TRY(std::unique_ptr<Replica> replica, Replica::create(graph, checked.replica));
  MG_RETURN_IF_ERROR(check_fits(graph, *dataset));
  return std::unique_ptr<Trainer>(new Trainer(std::move(replica), std::move(dataset), checked));
}

Trainer::Trainer(std::unique_ptr<Replica> replica, std::shared_ptr<const data::Dataset> dataset, const Options& options)
    : replica_(std::move(replica)),
      dataset_(std::move(dataset)),
      options_(options),
      views_(replica_->execution().parameters()) {
  for (const auto& view : views_) momentum_.emplace_back(view.value.size());
}

void Trainer::visit(std::vector<std::uint32_t> samples) {
  // A new loader, because an old one may still hold requests that a restore has made void.
  loader_ = std::make_unique<data::Loader>(dataset_, data::LoaderOptions{.batch = options_.replica.batch});
  order_ = std::move(samples);
  visited_ = 0;
  request_all(*loader_, order_, options_.replica.batch);
}

Result<BatchStats> Trainer::step() {
  const Instant start = clock_.now();
  if (visited_ == order_.size())
    visit(data::epoch_order(dataset_->size(), options_.seed, static_cast<std::uint64_t>(epochs_done_)));
  MG_TRY(const data::Batch batch, loader_->next());
  const BatchStats stats = replica_->compute_gradients(batch, 1.0f / static_cast<float>(batch.count));
  update_parameters();
  ++steps_done_;
  visited_ += static_cast<std::size_t>(batch.count);
  epoch_stats_ += stats;
  if (visited_ == order_.size()) {
    ++epochs_done_;
    epoch_stats_ = {};
  }
  train_seconds_ += clock_.now() - start;
  return stats;
}

void Trainer::update_parameters() {
  SgdOptions sgd = options_.sgd;
  sgd.learning_rate = scheduled_rate(options_.schedule, options_.sgd.learning_rate, steps_done_, options_.total_steps,
                                     options_.warmup_steps);
  for (std::size_t i = 0; i < views_.size(); ++i) sgd_step(views_[i].value, views_[i].gradient, momentum_[i], sgd);
}

Checkpoint Trainer::checkpoint() {
  Checkpoint checkpoint;
  const auto elements = static_cast<std::size_t>(replica_->parameter_elements());
  checkpoint.parameters.resize(elements);
  replica_->read_parameters(checkpoint.parameters);
  checkpoint.momentum.resize(elements);
  std::span<float> flat = checkpoint.momentum;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const auto size = static_cast<std::size_t>(replica_->graph().value(views_[i].name).shape.elements());
    replica_->execution().to_plain(views_[i].name, momentum_[i], flat.first(size));
    flat = flat.subspan(size);
  }
  checkpoint.step = steps_done_;
  checkpoint.epoch = epochs_done_;
  checkpoint.pending.assign(order_.begin() + static_cast<std::ptrdiff_t>(visited_), order_.end());
  checkpoint.epoch_stats = epoch_stats_;
  checkpoint.train_seconds = train_seconds_;
  return checkpoint;
}

Status Trainer::restore(const Checkpoint& checkpoint) {
  const auto elements = static_cast<std::size_t>(replica_->parameter_elements());
  if (checkpoint.parameters.size() != elements || checkpoint.momentum.size() != elements) {
    return make_error(Code::invalid_argument, "checkpoint: " + std::to_string(checkpoint.parameters.size()) +
                                                  " parameters and " + std::to_string(checkpoint.momentum.size()) +
                                                  " of momentum, the network has " + std::to_string(elements));
  }
  const std::uint32_t samples = dataset_->size();
  const auto outside = [samples](std::uint32_t index) { return index >= samples; };
  if (checkpoint.pending.size() > samples ||
      std::any_of(checkpoint.pending.begin(), checkpoint.pending.end(), outside)) {
    return make_error(Code::invalid_argument, "checkpoint: its pending samples do not fit a data set of " +
                                                  std::to_string(samples) + " samples");
  }
  replica_->write_parameters(checkpoint.parameters);
  std::span<const float> flat = checkpoint.momentum;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const auto size = static_cast<std::size_t>(replica_->graph().value(views_[i].name).shape.elements());
    replica_->execution().from_plain(views_[i].name, flat.first(size), momentum_[i]);
    flat = flat.subspan(size);
  }
  steps_done_ = checkpoint.step;
  epochs_done_ = checkpoint.epoch;
  epoch_stats_ = checkpoint.epoch_stats;
  train_seconds_ = checkpoint.train_seconds;
  visit(checkpoint.pending);
  return {};
}

Result<ConfusionMatrix> evaluate(Replica& replica, std::shared_ptr<const data::Dataset> dataset, std::stop_token stop) {
  MG_RETURN_IF_ERROR(check_fits(replica.graph(), *dataset));
  std::vector<std::uint32_t> samples(dataset->size());
  std::iota(samples.begin(), samples.end(), 0u);
  data::Loader loader(dataset, {.batch = replica.batch()});
  request_all(loader, samples, replica.batch());
  ConfusionMatrix matrix(replica.classes());
  for (std::size_t visited = 0; visited < samples.size();) {
    if (stop.stop_requested()) {
      return make_error(Code::cancelled, "stopped after " + std::to_string(visited) + " of " +
                                             std::to_string(samples.size()) + " samples");
    }
    MG_TRY(const data::Batch batch, loader.next());
    const std::vector<std::int32_t> predictions = replica.predict(batch);
    for (std::size_t row = 0; row < predictions.size(); ++row) matrix.add(batch.labels[row], predictions[row]);
    visited += predictions.size();
  }
  return matrix;
}

}  // namespace mangrove::learn
