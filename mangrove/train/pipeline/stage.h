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
  std::int64_t in_flight = 1;       // the most micro-batches between their forward and backward passes
  std::int64_t stale_versions = 0;  // the most older versions of the parameters that these need; 0: none
  std::string backend;              // "": the fastest
  int threads = 1;
  learn::OptimizerOptions optimizer;
};

/// Operators [first, last) of a network, trained on one device as a stage of a pipeline. It has their parameters, the
/// optimizer's state for them, and what the micro-batches under way need for their backward pass.
///
/// A backward pass uses the parameters of its forward pass, even if there was an update in between. The stage keeps
/// these parameters as long as a micro-batch needs them (weight stashing; source: Narayanan et al., PipeDream, SOSP
/// 2019).
///
/// Forward passes update the running statistics of batch normalization in their order, each with the statistics of its
/// micro-batch. threads: one at a time.
class Stage {
 public:
  /// The memory of a stage, in bytes.
  struct Memory {
    Bytes parameters = 0;   // parameters and their gradients
    Bytes activations = 0;  // activations of one micro-batch
    Bytes kept = 0;         // for the other micro-batches under way: activations, or inputs if it recomputes
    Bytes kept_activations = 0, kept_inputs = 0;  // `kept` without and with recomputation
    Bytes optimizer = 0;
    Bytes stashed = 0;  // older parameters, and one copy while they are exchanged
    Bytes total() const { return parameters + activations + kept + optimizer + stashed; }
  };

  /// Keeps none of the graph's weights: see write_state. With recomputation, the stage keeps only the inputs of the
  /// micro-batches under way, and runs the forward pass again for the backward pass (source: Huang et al., GPipe,
  /// NeurIPS 2019). Without it, the stage keeps their activations. where_needed: recompute only if the budget is too
  /// small otherwise.
  /// errors: those of Graph::slice, Program::compile, Optimizer::create and Execution::create; unimplemented (a value
  /// at the cut is not f32 [N, ...]; names it); resource_exhausted (names the needed and the available memory).
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
  /// Floating-point operations of the matrix products of one micro-batch's forward pass. Its backward pass has twice as
  /// many.
  double forward_flops() const { return forward_flops_; }

  /// The values behind the stage for a micro-batch, from the values before it (`received`); valid until the next call.
  /// seed: for the random numbers of its operators (dropout). REQUIRES: fewer than `in_flight` micro-batches are under
  /// way, and this one is not.
  std::span<const float> forward(std::int64_t micro_batch, std::span<const float> received, std::uint64_t seed);
  /// The gradients of the values before the stage, from those behind it; valid until the next call. Adds the gradients
  /// of the parameters to those since the last update. REQUIRES: forward() of this micro-batch.
  std::span<const float> backward(std::int64_t micro_batch, std::span<const float> gradient);
  /// step: counts from 1.
  void update(float learning_rate, std::int64_t step);
  /// To be called before the first forward pass of a mini-batch. keeps: this replica is the one that begins with the
  /// old statistics.
  void begin_share(bool keeps);
  /// Other replicas make this number of forward passes now.
  void skip(std::int64_t micro_batches);
  /// Elements that replicas sum before an update: gradients, then running statistics.
  std::size_t sum_elements() const { return parameter_elements_ + state_elements_; }
  void read_sums(std::span<float> flat);
  void write_sums(std::span<const float> flat);

  /// Drops all micro-batches under way and all gradients.
  void reset();

  /// The number of updates between the forward and the backward pass of the last micro-batch that came back.
  std::int64_t last_staleness() const { return last_staleness_; }

  /// Floats of a stage's state: its parameters, its running statistics, then the optimizer's state; see Checkpoint.
  std::size_t state_elements() const;
  void read_state(std::span<float> flat);
  void write_state(std::span<const float> flat);

 private:
  struct Flight {                 // a micro-batch under way
    std::size_t place = 0;        // which of executions_ has its activations
    std::vector<float> received;  // its inputs, if it is recomputed
    std::uint64_t seed = 0;
    std::int64_t version = 0;  // the version of the parameters that it uses
  };
  using Arrays = std::vector<std::vector<float>>;  // one for each parameter

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
  std::vector<std::size_t> free_;                       // executions that no micro-batch uses
  std::vector<Execution::ParameterView> views_;
  std::vector<std::size_t> sizes_;  // elements of each parameter
  std::vector<std::string> states_;
  std::vector<float> momentums_;  // for each state, the share that is left after a forward pass
  std::size_t parameter_elements_ = 0, state_elements_ = 0;
  std::optional<learn::Optimizer> optimizer_;
  std::map<std::int64_t, Flight> flights_;
  std::optional<std::int64_t> in_place_;  // the micro-batch whose activations are in the shared execution
  std::int64_t version_ = 0;              // updates so far
  std::map<std::int64_t, Arrays> stashed_;
  std::int64_t last_staleness_ = 0;
  std::vector<float> sent_, sent_back_;
};

}  // namespace mangrove::train
