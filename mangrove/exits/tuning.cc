#include "mangrove/exits/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "mangrove/base/format.h"

namespace mangrove::exits {
namespace {

constexpr double kSteps = 5e8;
constexpr std::size_t kMostLevels = 200, kFewestLevels = 6;

using Samples = std::vector<std::uint32_t>;

/// Four digits: what is printed is what was tried.
float rounded(float threshold) {
  const std::string text = fmt::format("{:.4g}", threshold);
  std::from_chars(text.data(), text.data() + text.size(), threshold);
  return threshold;
}

/// Of one exit: nobody but the certain, quantiles of its entropies, everybody.
std::vector<float> levels_of(const ExitRecords& records, std::size_t exit, std::size_t count) {
  std::vector<float> sorted;
  for (std::size_t i = exit; i < records.entropies.size(); i += records.exits)
    if (!std::isnan(records.entropies[i])) sorted.push_back(records.entropies[i]);
  std::ranges::sort(sorted);
  std::vector<float> levels{0, 1};
  for (std::size_t i = 1; i + 1 < count && !sorted.empty(); ++i)
    levels.push_back(rounded(sorted[i * sorted.size() / count]));
  std::ranges::sort(levels);
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  return levels;
}

/// Chance that k of n come, each with chance p.
double binomial(std::int64_t n, std::int64_t k, double p) {
  if (p <= 0) return k == 0 ? 1 : 0;
  if (p >= 1) return k == n ? 1 : 0;
  const auto a = static_cast<double>(n), b = static_cast<double>(k);
  return std::exp(std::lgamma(a + 1) - std::lgamma(b + 1) - std::lgamma(a - b + 1) + b * std::log(p) +
                  (a - b) * std::log1p(-p));
}

/// Time of each segment for a sample of a batch, by the share of the samples that come to it.
class SegmentSeconds {
 public:
  explicit SegmentSeconds(const ExitRecords& records) {
    for (const auto& sizes : records.seconds) {
      std::vector<Seconds>& curve = curves_.emplace_back();
      for (std::size_t i = 0; i <= kPoints; ++i) {
        const double share = static_cast<double>(i) / kPoints;
        double mean = 0;
        for (std::int64_t n = 1; n <= records.batch; ++n)
          mean += binomial(records.batch, n, share) * sizes.lower_bound(n)->second;
        curve.push_back(mean / static_cast<double>(records.batch));
      }
    }
  }

  Seconds operator()(std::size_t segment, double share) const {
    const double at = share * kPoints;
    const auto below = std::min(static_cast<std::size_t>(at), kPoints - 1);
    const double part = at - static_cast<double>(below);
    return (1 - part) * curves_[segment][below] + part * curves_[segment][below + 1];
  }

 private:
  static constexpr std::size_t kPoints = 128;  // lines between them
  std::vector<std::vector<Seconds>> curves_;
};

/// Tries every combination of levels.
class Search {
 public:
  Search(const ExitRecords& records, const ExitTarget& target, std::stop_token stop)
      : records_(records),
        target_(target),
        stop_(std::move(stop)),
        seconds_(records),
        count_(static_cast<double>(records.samples())) {
    const std::size_t early = records.exits - 1;
    const double most = std::pow(kSteps / count_, 1.0 / static_cast<double>(early));
    const auto levels = std::clamp(static_cast<std::size_t>(most), kFewestLevels, kMostLevels);
    for (std::size_t exit = 0; exit < early; ++exit) levels_.push_back(levels_of(records, exit, levels));
    for (std::size_t i = early; i < records.correct.size(); i += records.exits) whole_ += records.correct[i] / count_;
  }

  Result<std::vector<float>> run() {
    Samples all(records_.samples());
    std::iota(all.begin(), all.end(), 0u);
    visit(0, all, {}, {});
    if (stop_.stop_requested()) return make_error(Code::cancelled, "stopped");
    if (best_) return best_->thresholds;
    return make_error(Code::failed_precondition, "target: out of reach; the best that there is: " + nearest_);
  }

 private:
  struct Sum {
    double accuracy = 0;
    Seconds seconds = 0;
    double passed = 0;  // behind the target's exit
  };
  struct Choice : Sum {
    std::vector<float> thresholds;
  };

  /// The samples that come to an exit, and what came of the others.
  void visit(std::size_t exit, const Samples& samples, Sum sum, std::vector<float> thresholds) {
    sum.seconds += seconds_(exit, static_cast<double>(samples.size()) / count_);
    const auto correct = [&](std::uint32_t sample) { return records_.correct[sample * records_.exits + exit]; };
    if (exit + 1 == records_.exits) {
      std::int64_t right = 0;
      for (const std::uint32_t sample : samples) right += correct(sample);
      sum.accuracy += static_cast<double>(right) / count_;
      return consider({sum, std::move(thresholds)});
    }
    thresholds.push_back(0);
    Samples stay;
    for (const float threshold : levels_[exit]) {
      if (stop_.stop_requested()) return;
      stay.clear();
      std::int64_t right = 0;
      for (const std::uint32_t sample : samples) {
        if (records_.entropies[sample * records_.exits + exit] <= threshold)
          right += correct(sample);
        else
          stay.push_back(sample);
      }
      Sum next = sum;
      next.accuracy += static_cast<double>(right) / count_;
      if (exit == target_.exit)
        next.passed = static_cast<double>(stay.size()) / count_ * static_cast<double>(records_.passed[exit]);
      thresholds.back() = threshold;
      visit(exit + 1, stay, next, thresholds);
    }
  }

  /// How far it is from the target; 0: reached.
  double lack(const Sum& sum) const {
    constexpr double kRounding = 1e-9;
    const double over = target_.kind == ExitTarget::Kind::accuracy  ? whole_ - target_.value - kRounding - sum.accuracy
                        : target_.kind == ExitTarget::Kind::latency ? sum.seconds - target_.value
                                                                    : sum.passed - target_.value;
    return std::max(0.0, over);
  }

  void consider(Choice choice) {
    const double lacking = lack(choice);
    if (lacking > 0) {
      if (lacking < least_lack_) nearest_ = text(choice);
      least_lack_ = std::min(least_lack_, lacking);
      return;
    }
    const bool is_better =
        !best_ || (target_.kind == ExitTarget::Kind::accuracy
                       ? std::pair(choice.seconds, -choice.accuracy) < std::pair(best_->seconds, -best_->accuracy)
                       : std::pair(-choice.accuracy, choice.seconds) < std::pair(-best_->accuracy, best_->seconds));
    if (is_better) best_ = std::move(choice);
  }

  std::string text(const Sum& sum) const {
    return fmt::format("{} for a sample at an accuracy of {} (without exits {}), {:.0f} bytes behind exit {}",
                       format_seconds(sum.seconds), format_percent(sum.accuracy), format_percent(whole_), sum.passed,
                       target_.exit + 1);
  }

  const ExitRecords& records_;
  const ExitTarget target_;
  const std::stop_token stop_;
  const SegmentSeconds seconds_;
  const double count_;
  double whole_ = 0;  // accuracy of the last exit
  std::vector<std::vector<float>> levels_;
  std::optional<Choice> best_;
  double least_lack_ = std::numeric_limits<double>::infinity();
  std::string nearest_;
};

}  // namespace

ExitForecast forecast(const ExitRecords& records, const std::vector<float>& thresholds) {
  const SegmentSeconds seconds(records);
  const std::size_t exits = records.exits;
  const auto count = static_cast<double>(records.samples());
  std::vector<std::int64_t> left(exits), right(exits);
  for (std::size_t sample = 0; sample < records.samples(); ++sample) {
    const auto at = sample * exits;
    std::size_t exit = 0;
    while (exit + 1 < exits && !(records.entropies[at + exit] <= thresholds[exit])) ++exit;
    ++left[exit];
    right[exit] += records.correct[at + exit];
  }
  ExitForecast result;
  double coming = 1;
  for (std::size_t exit = 0; exit < exits; ++exit) {
    const double share = static_cast<double>(left[exit]) / count;
    result.seconds += seconds(exit, coming);
    coming = std::max(0.0, coming - share);
    result.passed.push_back(coming * static_cast<double>(records.passed[exit]));
    result.accuracy += static_cast<double>(right[exit]) / count;
    result.exits.push_back(
        {share, left[exit] > 0 ? static_cast<double>(right[exit]) / static_cast<double>(left[exit]) : 0});
  }
  return result;
}

Result<std::vector<float>> tune_exits(const ExitRecords& records, const ExitTarget& target, std::stop_token stop) {
  if (records.exits < 2) return make_error(Code::invalid_argument, "the network has no early exits");
  if (target.exit + 1 >= records.exits)
    return make_error(Code::invalid_argument, "target: exit " + std::to_string(target.exit + 1) +
                                                  " is no early exit; there are " + std::to_string(records.exits - 1));
  return Search(records, target, std::move(stop)).run();
}

}  // namespace mangrove::exits
