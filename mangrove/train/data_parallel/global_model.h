#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/learn/checkpoint.h"
#include "mangrove/train/aggregation/aggregation.h"
#include "mangrove/train/hyperparameters.h"

namespace mangrove::train {

/// The network of a job as the server keeps it: parameters, states, and everything that is learnt beside them. Its
/// values are one flat vector: first the parameters, then the states (the running statistics of batch normalization).
/// threads: one at a time.
class GlobalModel {
 public:
  /// errors: those of Optimizer::create and Schedule::create.
  static Result<std::unique_ptr<GlobalModel>> create(Graph graph, const Hyperparameters& recipe);

  const Graph& graph() const { return graph_; }
  /// The values that the next step starts from.
  std::span<const float> values() const { return values_; }
  /// values: as many as values() has. The state of the optimizer stays.
  void set_values(std::span<const float> values);
  /// The values that are evaluated and exported. With EMA the weights are their moving average. Valid until the next
  /// step.
  std::span<const float> evaluated();
  /// The graph with the values of evaluated().
  Graph model();

  /// One worker's part of a step, as flat bytes: the gradient of the sum of its samples' losses, then its states.
  struct Part {
    std::string_view body;  // as long as values(), or as long as the parameters alone
    std::int64_t samples;
    float weight = 1;  // the weight of the gradient
  };
  /// Makes one update with the gradient of the mean loss over all parts, added up in the order of the parts. States
  /// become their mean, weighted by samples, over the parts that contain states. step: counts from 1.
  void step(std::span<const Part> parts, float learning_rate, std::int64_t step);
  /// Makes a step with the update that the rule makes of one vector for each part: the gradient of the mean of its
  /// losses, times its weight. States become the median of each element, if enough workers sent them.
  /// errors: those of aggregate(); the values are then as before.
  Status step(std::span<const Part> parts, const Aggregation& rule, float learning_rate, std::int64_t step);

  /// Makes one update with this gradient, which is as long as the parameters or longer. The states stay as they are.
  void step(std::span<const float> gradient, float learning_rate, std::int64_t step);

  learn::Schedule& schedule() { return schedule_; }
  learn::BestModel& best() { return best_; }

  /// save() fills in what this class keeps; restore() sets it. errors: those of check_sizes; then nothing is changed.
  void save(learn::Checkpoint& checkpoint);
  Status restore(const learn::Checkpoint& checkpoint);

 private:
  GlobalModel(Graph graph, const Hyperparameters& recipe, learn::Schedule schedule);
  Status make_optimizer(const Hyperparameters& recipe);
  void update(float learning_rate, std::int64_t step);
  std::span<float> parameters() { return std::span(values_).first(gradient_.size()); }
  bool has_states(const Part& part) const { return part.body.size() > gradient_.size() * sizeof(float); }
  std::span<float> states() { return std::span(values_).subspan(gradient_.size()); }

  Graph graph_;
  const float ema_decay_;
  learn::Schedule schedule_;
  learn::BestModel best_;
  std::vector<float> values_, evaluated_;
  std::vector<float> gradient_, scratch_;
  std::vector<float> average_;      // empty without EMA
  std::vector<std::size_t> sizes_;  // elements of each parameter
  std::unique_ptr<learn::Optimizer> optimizer_;
};

}  // namespace mangrove::train
