#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/learn/checkpoint.h"
#include "mangrove/train/hyperparameters.h"

namespace mangrove::train {

/// The network of a job as the server keeps it: parameters, states and all that is learnt beside them. Its values are
/// one flat plain vector: the parameters, then the states (running statistics of batch normalisation).
/// threads: one at a time.
class GlobalModel {
 public:
  /// errors: those of Optimizer::create and Schedule::create.
  static Result<std::unique_ptr<GlobalModel>> create(Graph graph, const Hyperparameters& recipe);

  const Graph& graph() const { return graph_; }
  /// What a step starts from.
  std::span<const float> values() const { return values_; }
  /// As many as there are. What the optimizer remembers stays.
  void set_values(std::span<const float> values);
  /// What is evaluated and exported: with the average of the weights where there is one. Valid until the next step.
  std::span<const float> evaluated();
  /// The graph with evaluated().
  Graph model();

  /// A worker's part of a step, as flat bytes: the gradient of the sum of its samples' losses, then its states.
  struct Part {
    std::string_view body;  // as long as values(), or as the parameters alone
    std::int64_t samples;
    float weight = 1;  // that the gradient counts with
  };
  /// One update with the gradient of the mean loss over all parts; states become their mean over the samples of the
  /// parts that have some. Adds up in the order of the parts. step: counts from 1.
  void step(std::span<const Part> parts, float learning_rate, std::int64_t step);

  learn::Schedule& schedule() { return schedule_; }
  learn::BestModel& best() { return best_; }

  /// Fills in what is kept here; restores it. errors: those of check_sizes; nothing is changed then.
  void save(learn::Checkpoint& checkpoint);
  Status restore(const learn::Checkpoint& checkpoint);

 private:
  GlobalModel(Graph graph, const Hyperparameters& recipe, learn::Schedule schedule);
  Status make_optimizer(const Hyperparameters& recipe);
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
  std::vector<std::size_t> sizes_;  // of the parameters
  std::unique_ptr<learn::Optimizer> optimizer_;
};

}  // namespace mangrove::train
