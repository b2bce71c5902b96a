#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mangrove/engine/execution.h"
#include "mangrove/graph/graph.h"
#include "mangrove/learn/memory_budget.h"
#include "mangrove/learn/optimizer.h"
#include "mangrove/train/pipeline/stage_values.h"

namespace mangrove::train {

struct StageOptions {
  std::int64_t micro_batch = 1;     // rows that go through it at once
  std::int64_t in_flight = 1;       // the most micro-batches between their forward and backward pass
  std::int64_t stale_versions = 0;  // the most older parameters that those were computed with; 0: none
  std::string backend;              // "": the fastest
  int threads = 1;
  learn::OptimizerOptions optimizer;
};

/// Operators [first, last) of a network, trained on one device as a stage of a pipeline: it has their parameters, the
/// optimizer's state for them, and what micro-batches under way need for their backward pass.
///
/// A backward pass uses the parameters of the forward pass, also where there was an update between: they are kept for
/// as long as a micro-batch needs them (weight stashing; source: Narayanan et al., PipeDream, SOSP 2019).
///
/// Running statistics of batch normalization are updated by the forward passes, in their order, each with the
/// statistics of its micro-batch. threads: one at a time.
class Stage {
 public:
  /// What it takes, in bytes.
  struct Memory {
    Bytes parameters = 0;   // and their gradients
    Bytes activations = 0;  // of one micro-batch
    Bytes kept = 0;         // for the other micro-batches under way: their activations, or, recomputed, all inputs
    Bytes kept_activations = 0, kept_inputs = 0;  // what `kept` would be either way
    Bytes optimizer = 0;
    Bytes stashed = 0;  // older parameters, and one copy on the way between them
    Bytes total() const { return parameters + activations + kept + optimizer + stashed; }
  };

  /// Keeps nothing of the graph's weights: see write_state. recomputes: the forward pass is run again for the backward
  /// pass, from the stage's inputs, which are all that is kept of micro-batches under way (source: Huang et al., GPipe,
  /// NeurIPS 2019); else activations are. where_needed: only where the budget is too small otherwise.
  /// errors: those of Graph::slice, Program::compile, Optimizer::create and Execution::create; unimplemented (a value
  /// at the cut that is not f32 [N, ...]: names it); resource_exhausted (says how much it needs, and of how much).
  enum class Recompute { never, always, where_needed };
  static Result<std::unique_ptr<Stage>> create(const Graph& graph, std::size_t first, std::size_t last,
                                               const StageOptions& options, Recompute recompute,
                                               const learn::MemoryBudget& budget);
  ~Stage();

  std::size_t first() const { return first_; }
  std::size_t last() const { return last_; }
  const StageOptions& options() const { return options_; }
  bool recomputes() const { return recomputes_; }
  const Memory& memory() const { return memory_; }
  const StageValues& values() const { return values_; }
  /// Of one micro-batch's matrix products; its backward pass takes twice as many.
  double forward_flops() const { return forward_flops_; }

  /// The values behind the stage of a micro-batch whose values before it are these; valid until the next call. seed: of
  /// the random numbers of its operators (dropout). REQUIRES: fewer than `in_flight` are under way, this one is not.
  std::span<const float> forward(std::int64_t micro_batch, std::span<const float> received, std::uint64_t seed);
  /// The gradients of the values before the stage, from those behind it; valid until the next call. The parameters'
  /// gradients are added to those since the last update. REQUIRES: forward() of this micro-batch.
  std::span<const float> backward(std::int64_t micro_batch, std::span<const float> gradient);
  /// step: counts from 1.
  void update(float learning_rate, std::int64_t step);
  // Of a stage with replicas, which have other micro-batches of a mini-batch: running statistics change with each one
  // in turn, in proportion, so that those of all replicas can be added up if one alone begins with what they were.
  /// Before the first forward pass of a mini-batch. keeps: this replica is that one.
  void begin_share(bool keeps);
  /// Other replicas make so many forward passes now.
  void skip(std::int64_t micro_batches);
  /// What is added up before the update: gradients, then running statistics.
  std::size_t sum_elements() const { return parameter_elements_ + state_elements_; }
  void read_sums(std::span<float> flat);
  void write_sums(std::span<const float> flat);

  /// Nothing is under way any more, and there are no gradients.
  void reset();

  /// Updates between the forward and the backward pass of the last micro-batch that came back.
  std::int64_t last_staleness() const { return last_staleness_; }

  /// Floats of a stage's state: its parameters, running statistics, then what the optimizer remembers; see Checkpoint.
  std::size_t state_elements() const;
  void read_state(std::span<float> flat);
  void write_state(std::span<const float> flat);

 private:
  struct Flight {                 // of a micro-batch under way
    std::size_t place = 0;        // of its activations, among executions_
    std::vector<float> received;  // where it is recomputed
    std::uint64_t seed = 0;
    std::int64_t version = 0;  // of the parameters
  };
  using Arrays = std::vector<std::vector<float>>;  // of each parameter, as it lies

  Stage(const Graph& slice, std::size_t first, std::size_t last, const StageOptions& options, StageValues values);
  void plan_memory(const Program& program);
  Status choose(Recompute recompute, Bytes budget);
  Status allocate(std::shared_ptr<const Program> program);
  Execution& run_forward(const Flight& flight, std::span<const float> received);
  Execution& ready_for_backward(std::int64_t micro_batch, const Flight& flight);
  std::vector<Tensor> read_running();
  void write_running(const std::vector<Tensor>& running);
  void scale_running(const std::function<float(std::size_t)>& factor);
  void copy_running(std::span<float> flat);
  void take_running(std::span<const float> flat);
  Arrays parameters();
  void set_parameters(const Arrays& values);

  const std::size_t first_, last_;
  const StageOptions options_;
  bool recomputes_ = false;
  Memory memory_;
  StageValues values_;
  double forward_flops_ = 0;
  std::vector<std::unique_ptr<Execution>> executions_;  // all with the same parameters
  std::vector<std::size_t> free_;                       // of them
  std::vector<Execution::ParameterView> views_;
  std::vector<std::size_t> sizes_;  // of the parameters
  std::vector<std::string> states_;
  std::vector<float> momentums_;  // of the states: what is left of each after a forward pass
  std::size_t parameter_elements_ = 0, state_elements_ = 0;
  std::optional<learn::Optimizer> optimizer_;
  std::map<std::int64_t, Flight> flights_;
  std::optional<std::int64_t> in_place_;  // micro-batch whose forward pass ran last, where they share an execution
  std::int64_t version_ = 0;              // updates so far
  std::map<std::int64_t, Arrays> stashed_;
  std::int64_t last_staleness_ = 0;
  std::vector<float> sent_, sent_back_;
};

}  // namespace mangrove::train
