#include "mangrove/learn/loss.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "mangrove/base/check.h"
#include "mangrove/base/format.h"
#include "mangrove/base/table.h"
#include "mangrove/learn/losses/rules.h"

namespace mangrove::learn {
namespace {

// x: logits; t: target row; K: classes
constexpr LossRow kLosses[] = {
    {"softmax_cross_entropy", "-sum t log softmax(x)", true, false, &rules::softmax_cross_entropy},
    {"binary_cross_entropy", "-1/K sum (t log s(x) + (1 - t) log(1 - s(x))), s logistic", false, false,
     &rules::binary_cross_entropy},
    {"mse", "1/K sum (x - t)^2", false, false, &rules::mse},
    {"distillation", "T^2 KL(softmax(t/T) || softmax(x/T)), t the teacher's logits (Hinton et al. 2015)", false, true,
     &rules::distillation},
};

/// Row by row: the target and the label that counts as right.
class TargetRows {
 public:
  TargetRows(const Targets& targets, std::size_t classes, float smoothing)
      : targets_(targets), classes_(classes), smoothing_(smoothing), row_(classes) {
    const std::size_t rows = targets.labels.size();
    MG_CHECK(targets.second.size() == targets.share.size());
    MG_CHECK(targets.second.empty() || targets.second.size() == rows);
    MG_CHECK(targets.dense.empty() || targets.dense.size() == rows * classes);
  }

  bool counts(std::size_t row) const { return targets_.labels[row] >= 0; }

  std::size_t label(std::size_t row) const {
    const bool second = !targets_.second.empty() && targets_.share[row] < 0.5f;
    return static_cast<std::size_t>(second ? targets_.second[row] : targets_.labels[row]);
  }

  std::span<const float> target(std::size_t row) {
    if (!targets_.dense.empty()) {
      const auto dense = targets_.dense.subspan(row * classes_, classes_);
      if (smoothing_ == 0) return dense;
      std::copy(dense.begin(), dense.end(), row_.begin());
    } else {
      std::fill(row_.begin(), row_.end(), 0.0f);
      const float share = targets_.share.empty() ? 1 : targets_.share[row];
      add(targets_.labels[row], share);
      if (!targets_.second.empty()) add(targets_.second[row], 1 - share);
    }
    if (smoothing_ > 0)
      for (float& t : row_) t = (1 - smoothing_) * t + smoothing_ / static_cast<float>(classes_);
    return row_;
  }

 private:
  void add(std::int32_t label, float share) {
    MG_CHECK(label >= 0 && static_cast<std::size_t>(label) < classes_);
    row_[static_cast<std::size_t>(label)] += share;
  }

  const Targets& targets_;
  const std::size_t classes_;
  const float smoothing_;
  std::vector<float> row_;
};

}  // namespace

BatchStats& BatchStats::operator+=(const BatchStats& other) {
  loss += other.loss;
  correct += other.correct;
  count += other.count;
  early_correct.resize(std::max(early_correct.size(), other.early_correct.size()));
  for (std::size_t i = 0; i < other.early_correct.size(); ++i) early_correct[i] += other.early_correct[i];
  return *this;
}

std::span<const LossRow> losses() {
  return kLosses;
}

Result<const LossRow*> find_loss(const std::string& name) {
  return find_row(kLosses, name, "unknown loss");
}

Status check_options(const LossOptions& options) {
  MG_TRY(const LossRow* row, find_loss(options.name));
  const float smoothing = options.label_smoothing, temperature = options.temperature;
  if (!(smoothing >= 0 && smoothing < 1)) {
    return make_error(Code::invalid_argument,
                      "label_smoothing: must be from 0 to below 1, got " + std::to_string(smoothing));
  }
  if (smoothing > 0 && !row->takes_smoothing)
    return make_error(Code::invalid_argument, "label_smoothing: loss '" + options.name + "' takes none");
  if (!(std::isfinite(temperature) && temperature > 0))
    return make_error(Code::invalid_argument, "temperature: must be above 0, got " + std::to_string(temperature));
  const auto is_weight = [](float weight) { return std::isfinite(weight) && weight >= 0; };
  const std::vector<float>& weights = options.exit_weights;
  if (!weights.empty() && (!std::ranges::all_of(weights, is_weight) || std::ranges::max(weights) == 0))
    return make_error(Code::invalid_argument, "exit_weights: must be 0 or more, and one of them more");
  return {};
}

Result<std::vector<float>> weights_of_exits(const LossOptions& options, std::size_t exits) {
  const std::vector<float>& weights = options.exit_weights;
  if (weights.empty()) return std::vector<float>(exits, 1.0f);
  if (weights.size() == exits) return weights;
  return make_error(Code::invalid_argument, "exit_weights: " + std::to_string(weights.size()) +
                                                " given, the network has " +
                                                format_things(static_cast<std::int64_t>(exits), "exit"));
}

Result<Loss> Loss::create(const LossOptions& options) {
  MG_RETURN_IF_ERROR(check_options(options));
  MG_TRY(const LossRow* row, find_loss(options.name));
  return Loss(options, *row);
}

Loss Loss::unsmoothed() const {
  LossOptions options = options_;
  options.label_smoothing = 0;
  return Loss(std::move(options), *row_);
}

BatchStats Loss::operator()(std::span<const float> logits, std::int32_t classes, const Targets& targets, float scale,
                            std::span<float> gradient) const {
  const auto width = static_cast<std::size_t>(classes);
  const std::size_t rows = targets.labels.size();
  MG_CHECK(classes > 0 && logits.size() == rows * width);
  MG_CHECK(gradient.empty() || gradient.size() == logits.size());
  MG_CHECK(!row_->needs_dense || !targets.dense.empty());
  TargetRows target_rows(targets, width, options_.label_smoothing);
  BatchStats stats;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<const float> x = logits.subspan(row * width, width);
    const std::span<float> g = gradient.empty() ? gradient : gradient.subspan(row * width, width);
    if (!target_rows.counts(row)) {
      std::fill(g.begin(), g.end(), 0.0f);
      continue;
    }
    stats.loss += row_->row(x, target_rows.target(row), options_, scale, g);
    const auto predicted = static_cast<std::size_t>(std::max_element(x.begin(), x.end()) - x.begin());
    stats.correct += predicted == target_rows.label(row) ? 1 : 0;
    stats.count += 1;
  }
  return stats;
}

}  // namespace mangrove::learn
