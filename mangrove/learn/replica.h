#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mangrove/data/loader.h"
#include "mangrove/engine/execution.h"
#include "mangrove/learn/loss.h"
#include "mangrove/learn/memory_budget.h"

namespace mangrove::learn {

constexpr double kTrainingPasses = 3;  // forward, gradients of inputs, gradients of weights: each takes as many FLOP

struct ReplicaOptions {
  std::int64_t batch = 64;
  /// Rows that go through the network at once; 0: the whole batch. Fewer take less memory: the gradients of the parts
  /// are added up, and are those of the whole batch but for batch normalisation, whose statistics are of each part.
  std::int64_t micro_batch = 0;
  /// Training: the process shall stay within this much memory, and recomputation is chosen for it, with micro_batch 0
  /// the micro-batch too. Nothing: nothing is recomputed, whatever it takes.
  std::optional<MemoryBudget> memory = {};
  std::optional<ProcessPlan> plan = {};  // training: one that Replica::plan gave, to be used again
  Mode mode = Mode::training;
  std::string backend{};  // "" takes the fastest
  int threads = 1;
  LossOptions loss{};
  bool fuse = true;          // CompileOptions::fuse
  bool timing_only = false;  // CompileOptions::timing_only
};

/// Whether the graph is a classifier that a Replica can run: one f32 input [N, ...] and one f32 output of logits
/// [N, classes], or several alike where it has early exits (see graph/exits.h), with a symbolic batch, and parameters
/// and states of f32. errors: invalid_argument (says what differs).
Status check_classifier(const Graph& graph);
/// The same, and that it has no early exits. errors: the same.
Status check_single_exit(const Graph& graph);
/// Whether the samples and classes of a data set fit a classifier. errors: invalid_argument (names both shapes).
Status check_fits(const Graph& classifier, const data::Dataset& dataset);
Status check_fits(const Graph& classifier, const Shape& sample, std::int64_t classes);

/// One copy of a classifier on one device: the compiled network, its buffers and its loss. Of a network with early
/// exits all exits are trained jointly: the loss is the sum of theirs, weighted as LossOptions::exit_weights says.
/// source: Teerapittayanon et al., BranchyNet, ICPR 2016, section III-B.
/// threads: one at a time.
class Replica {
 public:
  /// Takes its own copy of the weights and keeps nothing of the graph's.
  /// errors: those of check_classifier, Loss::create, weights_of_exits, Program::compile, plan_process and
  /// Execution::create; invalid_argument (micro_batch).
  static Result<std::unique_ptr<Replica>> create(const Graph& graph, const ReplicaOptions& options);

  std::int32_t classes() const { return classes_; }
  std::int64_t batch() const { return options_.batch; }
  std::int64_t micro_batch() const { return options_.micro_batch; }
  Mode mode() const { return options_.mode; }
  /// Floating-point operations of the matrix products of so many samples (see multiply_adds): of a forward pass, and in
  /// training mode of the gradients of inputs and weights too, which take as many each.
  double flops(std::int64_t samples) const { return sample_flops_ * static_cast<double>(samples); }
  /// With ReplicaOptions::memory: what was chosen.
  const std::optional<ProcessPlan>& plan() const { return plan_; }

  /// Forward, loss and backward on a batch of options.batch rows. Parameter gradients become those of
  /// scale * (sum of the losses over labelled rows). Training mode only. In a network with batch normalisation, rows
  /// that pad the batch repeat its samples, so that its statistics are of real samples only.
  /// dense: target rows [N, classes] in place of the labels; see Targets. Losses that need them must get them.
  /// ready: called with each parameter (its position in Graph::parameters()) as soon as its gradient is done; others
  /// are still computed then, states are done.
  BatchStats compute_gradients(const data::Batch& batch, float scale, std::span<const float> dense = {},
                               const std::function<void(std::size_t parameter)>& ready = {});

  /// Adds to `sum` (flat, as below) the gradients of the losses of the labelled rows, each scaled down to the Euclidean
  /// norm `most` by itself, where it is longer; see clip_factor. Training mode with micro_batch() 1 only.
  /// cost: forward and backward passes of one row, whatever the batch; memory for two more vectors of the parameters.
  /// source: Abadi et al., Deep learning with differential privacy, CCS 2016, algorithm 1.
  BatchStats add_clipped_gradients(const data::Batch& batch, double most, std::span<float> sum);

  /// Forward only: the class of each of the first batch.count rows, as the last exit has it. stats, unless null: gets
  /// the loss without label smoothing (softmax cross-entropy where the loss needs more than labels) added.
  std::vector<std::int32_t> predict(const data::Batch& batch, BatchStats* stats = nullptr);

  /// Starts the random numbers of the network (dropout) anew; see Execution::seed.
  void seed(std::uint64_t seed) { execution_->seed(seed); }

  /// Elements of all parameters (states) together: the length of the flat vectors below.
  std::int64_t parameter_elements() const { return parameter_elements_; }
  std::int64_t state_elements() const { return state_elements_; }
  // All parameters (gradients) as one flat plain vector, in the order of Graph::parameters(); all states in the order
  // of Graph::states(). Training mode only.
  void read_parameters(std::span<float> flat);
  void write_parameters(std::span<const float> flat);
  void read_gradients(std::span<float> flat);
  void read_gradient(std::size_t parameter, std::span<float> flat);  // one of them, to its place in the flat vector
  void read_states(std::span<float> flat);
  void write_states(std::span<const float> flat);

  /// The graph with the parameters and states as they are now. Training mode only.
  Graph trained_graph();
  /// Without the weights.
  const Graph& graph() const { return execution_->program().graph(); }
  Execution& execution() { return *execution_; }

 private:
  Replica(const Graph& graph, const ReplicaOptions& options, Loss loss, std::vector<float> exit_weights,
          std::unique_ptr<Execution> execution);
  void forward(const data::Batch& batch, std::int64_t first);
  BatchStats add_loss(const Loss& loss, const data::Batch& batch, std::int64_t first, float scale,
                      std::span<const float> dense, bool with_gradient);

  std::optional<ProcessPlan> plan_;
  ReplicaOptions options_;
  Loss loss_, measured_loss_;
  std::unique_ptr<Execution> execution_;
  std::vector<Execution::ParameterView> views_;  // training: in the order of Graph::parameters()
  std::vector<std::size_t> sizes_, starts_;      // elements of each, and where they begin, in the flat vector
  std::vector<std::string> states_;
  std::string input_;
  std::vector<std::string> outputs_;  // one for each exit
  std::vector<float> exit_weights_;   // as many
  std::int32_t classes_ = 0;
  double sample_flops_ = 0;
  std::int64_t parameter_elements_ = 0, state_elements_ = 0;
};

/// What Replica::seed gets before a step, so that a step's random numbers depend on nothing else.
std::uint64_t step_seed(std::uint64_t seed, std::int64_t step, std::int64_t rank);

/// The graph with its parameters (states) replaced by a flat plain vector; both are f32.
/// errors: invalid_argument (another number of floats).
Result<Graph> with_flat_parameters(const Graph& graph, std::span<const float> flat);
Result<Graph> with_flat_states(const Graph& graph, std::span<const float> flat);
/// The parameters (states) of the graph, f32, as one flat plain vector.
std::vector<float> flat_parameters(const Graph& graph);
std::vector<float> flat_states(const Graph& graph);

}  // namespace mangrove::learn
