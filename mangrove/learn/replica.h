#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mangrove/data/loader.h"
#include "mangrove/engine/execution.h"
#include "mangrove/learn/loss.h"

namespace mangrove::learn {

struct ReplicaOptions {
  std::int64_t batch = 64;
  Mode mode = Mode::training;
  std::string backend{};  // "" takes the fastest
  int threads = 1;
};

/// Whether the graph is a classifier that a Replica can run: one f32 input [N, C, H, W] and one f32 output of logits
/// [N, classes], both with a symbolic batch, and parameters of f32. errors: invalid_argument (says what differs).
Status check_classifier(const Graph& graph);
/// Whether the samples and classes of a data set fit a classifier. errors: invalid_argument (names both shapes).
Status check_fits(const Graph& classifier, const data::Dataset& dataset);

/// One copy of a classifier on one device: the compiled network, its buffers and its loss.
/// threads: one at a time.
class Replica {
 public:
  /// errors: those of check_classifier, Program::compile and Execution::create.
  static Result<std::unique_ptr<Replica>> create(const Graph& graph, const ReplicaOptions& options);

  std::int32_t classes() const { return classes_; }
  std::int64_t batch() const { return options_.batch; }
  /// Elements of all parameters together: the length of the flat vectors below.
  std::int64_t parameter_elements() const { return parameter_elements_; }

  /// Forward, loss and backward on a batch of options.batch rows. Parameter gradients become those of
  /// scale * (sum of the losses over labelled rows). Training mode only.
  BatchStats compute_gradients(const data::Batch& batch, float scale);
  /// Forward only: the predicted class of each of the first batch.count rows.
  std::vector<std::int32_t> predict(const data::Batch& batch);

  // All parameters (gradients) as one flat plain vector, in the order of Graph::parameters().
  void read_parameters(std::span<float> flat);
  void write_parameters(std::span<const float> flat);
  void read_gradients(std::span<float> flat);

  /// The graph with the parameters as they are now.
  Graph trained_graph();
  const Graph& graph() const { return execution_->program().graph(); }
  Execution& execution() { return *execution_; }

 private:
  Replica(const ReplicaOptions& options, std::unique_ptr<Execution> execution);
  void forward(const data::Batch& batch);

  ReplicaOptions options_;
  std::unique_ptr<Execution> execution_;
  std::vector<Execution::ParameterView> views_;  // in the order of Graph::parameters()
  std::vector<std::size_t> sizes_;               // elements of each in the flat vector
  std::string input_, output_;
  std::int32_t classes_ = 0;
  std::int64_t parameter_elements_ = 0;
};

/// The graph with its parameters (f32) replaced by a flat plain vector.
/// errors: invalid_argument (not graph.parameter_elements() floats).
Result<Graph> with_flat_parameters(const Graph& graph, std::span<const float> flat);
/// The parameters (f32) of the graph as one flat plain vector.
std::vector<float> flat_parameters(const Graph& graph);

}  // namespace mangrove::learn
