#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::learn {

/// Sums over the labelled rows of a batch.
struct BatchStats {
  double loss = 0;                               // sum, not mean
  std::int64_t correct = 0;                      // top-1
  std::int64_t count = 0;                        // rows with a label
  std::vector<std::int64_t> early_correct = {};  // top-1 at each early exit; empty without

  BatchStats& operator+=(const BatchStats& other);
};

/// Which loss, and its constants.
struct LossOptions {
  std::string name = "softmax_cross_entropy";
  float label_smoothing = 0;             // share of each target that is spread evenly over all classes
  float temperature = 1;                 // distillation: of both softmaxes
  std::vector<float> exit_weights = {};  // of a network with early exits: what the loss at each exit, the last one too,
                                         // counts in the sum; empty: 1 each
};

/// What the rows of a batch should have come out as. The target row of a label is its one-hot vector, that of a mixed
/// row share * one-hot(label) + (1 - share) * one-hot(second).
struct Targets {
  std::span<const std::int32_t> labels;       // [N]; a row with a negative label is left out (gradient 0)
  std::span<const std::int32_t> second = {};  // [N] or empty: the other label of a mixed row (mixup)
  std::span<const float> share = {};          // [N], with second
  std::span<const float> dense = {};          // [N, classes] or empty: the target rows themselves: several labels, soft
                                              // labels, values; distillation: the teacher's logits
};

/// One loss: one file of learn/losses/, one row of the table in loss.cc.
struct LossRow {
  std::string_view name;
  std::string_view summary;  // formula and source, one line
  bool takes_smoothing;
  bool needs_dense;  // labels alone do not do
  /// Loss of one row of logits x against target t; gradient, unless empty, becomes scale * d(loss)/dx.
  double (*row)(std::span<const float> x, std::span<const float> t, const LossOptions& options, double scale,
                std::span<float> gradient);
};
std::span<const LossRow> losses();
/// errors: not_found, with the nearest known name.
Result<const LossRow*> find_loss(const std::string& name);
/// errors: not_found (name); invalid_argument (a constant out of its range: names it).
Status check_options(const LossOptions& options);
/// Weights for so many outputs. errors: invalid_argument (given for another number).
Result<std::vector<float>> weights_of_exits(const LossOptions& options, std::size_t exits);

/// A loss of logits.
/// threads: any.
class Loss {
 public:
  /// errors: those of check_options.
  static Result<Loss> create(const LossOptions& options);

  /// Loss of logits [N, classes]. gradient [N, classes] = scale * d(sum of losses)/d(logits); may be empty where it is
  /// not wanted. A row is correct where its largest logit is at its label (of a mixed row: that of the larger share).
  BatchStats operator()(std::span<const float> logits, std::int32_t classes, const Targets& targets, float scale,
                        std::span<float> gradient) const;
  /// The same loss as it is measured: without label smoothing.
  Loss unsmoothed() const;
  bool needs_dense() const { return row_->needs_dense; }

 private:
  Loss(LossOptions options, const LossRow& row) : options_(std::move(options)), row_(&row) {}
  LossOptions options_;
  const LossRow* row_;
};

}  // namespace mangrove::learn
