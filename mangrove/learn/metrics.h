#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::learn {

/// Counts of (true class, predicted class).
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(std::int32_t classes);
  /// From counts in row-major order, classes x classes. errors: invalid_argument (size, negative count).
  static Result<ConfusionMatrix> from_counts(std::int32_t classes, std::vector<std::int64_t> counts);

  void add(std::int32_t truth, std::int32_t prediction);
  void add(const ConfusionMatrix& other);

  std::int32_t classes() const { return classes_; }
  std::int64_t count(std::int32_t truth, std::int32_t prediction) const;
  std::span<const std::int64_t> counts() const { return counts_; }
  std::int64_t total() const;
  /// How many samples are of this class.
  std::int64_t samples_of(std::int32_t truth) const;

  /// Share of samples whose prediction is right, 0 if there are none.
  double accuracy() const;
  /// Mean over the classes that occur (as truth or prediction) of the F1 score, 2PR/(P+R), 0 where P+R is 0.
  double macro_f1() const;
  /// A table for people: rows are true classes.
  std::string to_string(std::span<const std::string> class_names) const;

 private:
  std::int32_t classes_;
  std::vector<std::int64_t> counts_;
};

/// The class with the largest logit (the first of equals) of each row of logits [N, classes].
std::vector<std::int32_t> argmax_rows(std::span<const float> logits, std::int32_t classes);

/// The softmax of a row of logits [classes]; of a row that is probabilities already, these.
std::vector<double> probabilities(std::span<const float> row);

}  // namespace mangrove::learn
