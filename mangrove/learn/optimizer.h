#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/graph/graph.h"

namespace mangrove::learn {

/// Which optimiser, and its constants; each optimiser reads those that its row's `constants` names.
struct OptimizerOptions {
  std::string name = "momentum";
  float momentum = 0.9f;
  float beta1 = 0.9f;     // decay of the mean gradient
  float beta2 = 0.999f;   // decay of the mean squared gradient
  float alpha = 0.99f;    // the same, of rmsprop
  float epsilon = 1e-8f;  // added to the root of the mean squared gradient
  float trust = 1e-3f;    // share of a weight's norm that a step may change, at learning rate 1
  float weight_decay = 0;
  float clip_norm = 0;   // gradients are scaled down to this norm of all of them together; 0: they are not
  float clip_value = 0;  // then each element is cut to [-clip_value, clip_value]; 0: it is not
};

/// One parameter, and all that its update reads and changes. Spans have the same length; all but the norms of lars is
/// elementwise, and (weight, gradient, slots) = 0 maps to 0, so padding stays zero.
struct Update {
  std::span<float> weight;
  std::span<const float> gradient;
  std::array<std::span<float>, 2> slots;  // as many as the row says; all zero before the first step
  float learning_rate = 0;
  float weight_decay = 0;  // 0 for a parameter that is spared
  bool spared = false;     // see spared_from_decay
  std::int64_t step = 1;   // counts from 1
};

/// One optimiser: one file of learn/optimizers/, one row of the table in optimizer.cc.
struct OptimizerRow {
  std::string_view name;
  std::string_view summary;    // formula and source, one line
  std::string_view constants;  // of OptimizerOptions, those that not all read, with commas between
  std::size_t slots;           // vectors kept per parameter, 0 to 2
  float default_rate;          // learning rate where the user gives none, for one worker's batch
  bool scales;                 // the default rate grows with the number of workers
  bool is_layer_wise;          // an element's update depends on its whole parameter
  void (*update)(const Update& update, const OptimizerOptions& options);
};
std::span<const OptimizerRow> optimizers();
/// errors: not_found, with the nearest known name.
Result<const OptimizerRow*> find_optimizer(const std::string& name);
/// The names of those that read this constant: "momentum", "beta1" and so on.
std::vector<std::string> optimizers_with(std::string_view constant);
/// errors: not_found (name); invalid_argument (a constant out of its range: names it).
Status check_options(const OptimizerOptions& options);

/// Per parameter of the graph, in the order of Graph::parameters(): whether weight decay (and the layer-wise rates of
/// lars) leave it alone. Only the weights of convolutions, products and recurrent layers, of rank 2 and up, decay;
/// biases and the scales and shifts of normalisations do not.
/// source: He et al., Bag of tricks for image classification with convolutional neural networks, CVPR 2019,
/// section 3.1.
std::vector<bool> spared_from_decay(const Graph& graph);

/// An optimiser with its state, for parameters that lie wherever and however they do.
/// threads: one at a time.
class Optimizer {
 public:
  struct Parameter {
    std::span<float> value;
    std::span<float> gradient;  // clipping changes it
    bool spared = false;
  };
  /// The spans must outlive the optimiser. errors: those of check_options.
  static Result<Optimizer> create(const OptimizerOptions& options, std::vector<Parameter> parameters);

  /// The same parameters, with the same layouts, lie here from now on; what is remembered of them stays.
  void move_to(std::vector<Parameter> parameters);
  /// One update of all parameters. step: counts from 1. threads: of the kernels; the result does not depend on them.
  void step(float learning_rate, std::int64_t step, int threads = 1);

  std::size_t slots() const { return slots_.size(); }
  /// State vector `slot` of a parameter, laid out like it.
  std::span<float> slot(std::size_t slot, std::size_t parameter) { return slots_[slot][parameter]; }

 private:
  Optimizer(const OptimizerOptions& options, const OptimizerRow& row, std::vector<Parameter> parameters);
  void update_part(int part, int parts, float learning_rate, std::int64_t step);
  void clip();

  OptimizerOptions options_;
  const OptimizerRow* row_;
  std::vector<Parameter> parameters_;
  std::size_t elements_ = 0;                            // of all
  std::vector<std::vector<std::vector<float>>> slots_;  // [slot][parameter]
};

}  // namespace mangrove::learn
