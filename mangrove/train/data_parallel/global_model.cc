#include "mangrove/train/data_parallel/global_model.h"

#include <algorithm>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/learn/ema.h"
#include "mangrove/learn/replica.h"
#include "mangrove/learn/trainable.h"
#include "mangrove/net/payload.h"

namespace mangrove::train {

Result<std::unique_ptr<GlobalModel>> GlobalModel::create(Graph graph, const Hyperparameters& recipe) {
  MG_RETURN_IF_ERROR(learn::check_trainable(graph));
  MG_RETURN_IF_ERROR(learn::weights_of_exits(recipe.loss, graph.outputs().size()));
  MG_TRY(learn::Schedule schedule, learn::Schedule::create(recipe.schedule));
  std::unique_ptr<GlobalModel> model(new GlobalModel(std::move(graph), recipe, std::move(schedule)));
  MG_RETURN_IF_ERROR(model->make_optimizer(recipe));
  return model;
}

GlobalModel::GlobalModel(Graph graph, const Hyperparameters& recipe, learn::Schedule schedule)
    : graph_(std::move(graph)), ema_decay_(recipe.ema_decay), schedule_(std::move(schedule)) {
  values_ = learn::flat_parameters(graph_);
  gradient_.resize(values_.size());
  if (ema_decay_ > 0) average_ = values_;
  const std::vector<float> states = learn::flat_states(graph_);
  values_.insert(values_.end(), states.begin(), states.end());
  scratch_.resize(values_.size());
}

Status GlobalModel::make_optimizer(const Hyperparameters& recipe) {
  const std::vector<bool> spared = learn::spared_from_decay(graph_);
  std::vector<learn::Optimizer::Parameter> parts;
  std::size_t first = 0;
  for (const std::string& name : graph_.parameters()) {
    const auto size = static_cast<std::size_t>(graph_.value(name).shape.elements());
    parts.push_back(
        {parameters().subspan(first, size), std::span(gradient_).subspan(first, size), spared[parts.size()]});
    sizes_.push_back(size);
    first += size;
  }
  MG_TRY(learn::Optimizer optimizer, learn::Optimizer::create(recipe.optimizer, std::move(parts)));
  optimizer_ = std::make_unique<learn::Optimizer>(std::move(optimizer));
  return {};
}

void GlobalModel::set_values(std::span<const float> values) {
  MG_CHECK(values.size() == values_.size());
  std::copy(values.begin(), values.end(), values_.begin());
}

void GlobalModel::step(std::span<const Part> parts, float learning_rate, std::int64_t step) {
  std::int64_t samples = 0, samples_of_states = 0;
  for (const Part& part : parts) {
    samples += part.samples;
    if (has_states(part)) samples_of_states += part.samples;
  }
  MG_CHECK(samples > 0);
  std::fill(gradient_.begin(), gradient_.end(), 0.0f);
  if (samples_of_states > 0) std::fill(states().begin(), states().end(), 0.0f);
  for (const Part& part : parts) {
    const std::span<float> values = std::span(scratch_).first(part.body.size() / sizeof(float));
    MG_CHECK(net::read_floats(part.body, values).ok());  // the caller has checked the length
    for (std::size_t i = 0; i < gradient_.size(); ++i) gradient_[i] += part.weight * values[i];
    if (!has_states(part)) continue;
    const auto share = static_cast<float>(static_cast<double>(part.samples) / static_cast<double>(samples_of_states));
    const std::span<float> mean = states();
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += share * values[gradient_.size() + i];
  }
  const float scale = 1.0f / static_cast<float>(samples);
  for (float& g : gradient_) g *= scale;
  update(learning_rate, step);
}

Status GlobalModel::step(std::span<const Part> parts, const Aggregation& rule, float learning_rate, std::int64_t step) {
  const std::size_t gradient_bytes = gradient_.size() * sizeof(float);
  Vectors gradients(gradient_.size()), all_states(states().size());
  for (const Part& part : parts) {
    gradients.add(part.body.substr(0, gradient_bytes), part.weight / static_cast<float>(part.samples));
    if (has_states(part)) all_states.add(part.body.substr(gradient_bytes));
  }
  MG_RETURN_IF_ERROR(aggregate(rule, gradients, gradient_));
  const bool most_are_honest = all_states.count() > 2 * rule.liars(parts.size());
  if (most_are_honest) MG_RETURN_IF_ERROR(aggregate_states(all_states, states()));
  update(learning_rate, step);
  return {};
}

void GlobalModel::step(std::span<const float> gradient, float learning_rate, std::int64_t step) {
  std::copy_n(gradient.begin(), gradient_.size(), gradient_.begin());
  update(learning_rate, step);
}

/// Makes a step with `gradient_`.
void GlobalModel::update(float learning_rate, std::int64_t step) {
  optimizer_->step(learning_rate, step);
  if (!average_.empty()) learn::ema_update(average_, parameters(), ema_decay_, step);
}

std::span<const float> GlobalModel::evaluated() {
  if (average_.empty()) return values_;
  evaluated_ = average_;
  evaluated_.insert(evaluated_.end(), states().begin(), states().end());
  return evaluated_;
}

Graph GlobalModel::model() {
  const std::span<const float> values = evaluated();
  Result<Graph> trained = learn::with_flat_parameters(graph_, values.first(gradient_.size()));
  MG_CHECK_MSG(trained.ok(), trained.error().message);
  return learn::with_flat_states(*trained, values.subspan(gradient_.size())).value();
}

void GlobalModel::save(learn::Checkpoint& checkpoint) {
  checkpoint.parameters.assign(parameters().begin(), parameters().end());
  checkpoint.states.assign(states().begin(), states().end());
  checkpoint.slots.assign(optimizer_->slots(), {});
  for (std::size_t slot = 0; slot < optimizer_->slots(); ++slot) {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const std::span<float> part = optimizer_->slot(slot, i);
      checkpoint.slots[slot].insert(checkpoint.slots[slot].end(), part.begin(), part.end());
    }
  }
  checkpoint.average = average_;
  checkpoint.plateau = schedule_.plateau();
  checkpoint.best = best_;
}

Status GlobalModel::restore(const learn::Checkpoint& checkpoint) {
  const learn::CheckpointSizes sizes{.parameters = gradient_.size(),
                                     .states = states().size(),
                                     .slots = optimizer_->slots(),
                                     .average = !average_.empty()};
  MG_RETURN_IF_ERROR(learn::check_sizes(checkpoint, sizes));
  std::copy(checkpoint.parameters.begin(), checkpoint.parameters.end(), parameters().begin());
  std::copy(checkpoint.states.begin(), checkpoint.states.end(), states().begin());
  for (std::size_t slot = 0; slot < optimizer_->slots(); ++slot) {
    std::span<const float> flat = checkpoint.slots[slot];
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      std::copy_n(flat.begin(), sizes_[i], optimizer_->slot(slot, i).begin());
      flat = flat.subspan(sizes_[i]);
    }
  }
  average_ = checkpoint.average;
  schedule_.set_plateau(checkpoint.plateau);
  best_ = checkpoint.best;
  return {};
}

}  // namespace mangrove::train
