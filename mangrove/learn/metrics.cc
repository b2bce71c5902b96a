#include "mangrove/learn/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <numeric>
#include <sstream>
#include <utility>

#include "mangrove/base/check.h"

namespace mangrove::learn {
namespace {

std::size_t cells(std::int32_t classes) {
  return static_cast<std::size_t>(classes) * static_cast<std::size_t>(classes);
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(std::int32_t classes) : classes_(classes) {
  MG_CHECK(classes > 0);
  counts_.resize(cells(classes));
}

Result<ConfusionMatrix> ConfusionMatrix::from_counts(std::int32_t classes, std::vector<std::int64_t> counts) {
  if (classes < 1) {
    return make_error(Code::invalid_argument,
                      "confusion matrix: at least 1 class is needed, got " + std::to_string(classes));
  }
  if (counts.size() != cells(classes)) {
    return make_error(Code::invalid_argument, "confusion matrix: " + std::to_string(counts.size()) + " counts for " +
                                                  std::to_string(classes) + " classes, expected " +
                                                  std::to_string(cells(classes)));
  }
  if (std::any_of(counts.begin(), counts.end(), [](std::int64_t count) { return count < 0; }))
    return make_error(Code::invalid_argument, "confusion matrix: a count is negative");
  ConfusionMatrix matrix(classes);
  matrix.counts_ = std::move(counts);
  return matrix;
}

void ConfusionMatrix::add(std::int32_t truth, std::int32_t prediction) {
  MG_CHECK(truth >= 0 && truth < classes_ && prediction >= 0 && prediction < classes_);
  ++counts_[static_cast<std::size_t>(truth * classes_ + prediction)];
}

void ConfusionMatrix::add(const ConfusionMatrix& other) {
  MG_CHECK(other.classes_ == classes_);
  std::transform(counts_.begin(), counts_.end(), other.counts_.begin(), counts_.begin(), std::plus<>());
}

std::int64_t ConfusionMatrix::count(std::int32_t truth, std::int32_t prediction) const {
  MG_CHECK(truth >= 0 && truth < classes_ && prediction >= 0 && prediction < classes_);
  return counts_[static_cast<std::size_t>(truth * classes_ + prediction)];
}

std::int64_t ConfusionMatrix::samples_of(std::int32_t truth) const {
  std::int64_t samples = 0;
  for (std::int32_t prediction = 0; prediction < classes_; ++prediction) samples += count(truth, prediction);
  return samples;
}

std::int64_t ConfusionMatrix::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
}

double ConfusionMatrix::accuracy() const {
  const std::int64_t all = total();
  if (all == 0) return 0;
  std::int64_t right = 0;
  for (std::int32_t c = 0; c < classes_; ++c) right += count(c, c);
  return static_cast<double>(right) / static_cast<double>(all);
}

double ConfusionMatrix::macro_f1() const {
  double sum = 0;
  int occurring = 0;
  for (std::int32_t c = 0; c < classes_; ++c) {
    std::int64_t truths = 0, predictions = 0;
    for (std::int32_t other = 0; other < classes_; ++other) {
      truths += count(c, other);
      predictions += count(other, c);
    }
    if (truths + predictions == 0) continue;
    ++occurring;
    // 2PR/(P+R) with P = right/predictions and R = right/truths; 0 right gives 0, whether P and R exist or not.
    sum += 2.0 * static_cast<double>(count(c, c)) / static_cast<double>(truths + predictions);
  }
  return occurring == 0 ? 0 : sum / occurring;
}

std::string ConfusionMatrix::to_string(std::span<const std::string> class_names) const {
  MG_CHECK(class_names.size() == static_cast<std::size_t>(classes_));
  const std::string corner = "true \\ predicted";
  std::size_t first = corner.size(), width = std::to_string(*std::max_element(counts_.begin(), counts_.end())).size();
  for (const std::string& name : class_names) {
    first = std::max(first, name.size());
    width = std::max(width, name.size());
  }
  std::ostringstream out;
  out << std::left << std::setw(static_cast<int>(first)) << corner << std::right;
  for (const std::string& name : class_names) out << "  " << std::setw(static_cast<int>(width)) << name;
  out << '\n';
  for (std::int32_t truth = 0; truth < classes_; ++truth) {
    out << std::left << std::setw(static_cast<int>(first)) << class_names[static_cast<std::size_t>(truth)]
        << std::right;
    for (std::int32_t prediction = 0; prediction < classes_; ++prediction)
      out << "  " << std::setw(static_cast<int>(width)) << count(truth, prediction);
    out << '\n';
  }
  return out.str();
}

std::vector<std::int32_t> argmax_rows(std::span<const float> logits, std::int32_t classes) {
  const auto width = static_cast<std::size_t>(classes);
  MG_CHECK(classes > 0 && logits.size() % width == 0);
  std::vector<std::int32_t> best(logits.size() / width);
  for (std::size_t row = 0; row < best.size(); ++row) {
    const std::span<const float> x = logits.subspan(row * width, width);
    best[row] = static_cast<std::int32_t>(std::max_element(x.begin(), x.end()) - x.begin());
  }
  return best;
}

std::vector<double> probabilities(std::span<const float> row) {
  std::vector<double> values(row.begin(), row.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  const bool are_probabilities =
      std::abs(sum - 1) < 1e-3 && std::ranges::all_of(values, [](double p) { return p >= 0; });
  if (are_probabilities) return values;
  const double largest = std::ranges::max(values);
  for (double& value : values) value = std::exp(value - largest);
  const double total = std::accumulate(values.begin(), values.end(), 0.0);
  for (double& value : values) value /= total;
  return values;
}

}  // namespace mangrove::learn
