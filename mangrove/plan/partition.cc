#include "mangrove/plan/partition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace mangrove::plan {
namespace {

Status check(std::span<const double> costs, std::size_t stages, std::span<const double> cut_costs) {
  if (stages < 1) return make_error(Code::invalid_argument, "stages: at least 1 is needed, got 0");
  if (stages > costs.size()) {
    return make_error(Code::invalid_argument, "stages: " + std::to_string(stages) + " stages cannot be cut from " +
                                                  std::to_string(costs.size()) + " operators");
  }
  if (!cut_costs.empty() && cut_costs.size() != costs.size()) {
    return make_error(Code::invalid_argument, "cut costs: got " + std::to_string(cut_costs.size()) + " for " +
                                                  std::to_string(costs.size()) + " operators");
  }
  const auto valid = [](double cost) { return std::isfinite(cost) && cost >= 0; };
  if (!std::all_of(costs.begin(), costs.end(), valid) || !std::all_of(cut_costs.begin(), cut_costs.end(), valid)) {
    return make_error(Code::invalid_argument, "costs: every cost must be a number and not negative");
  }
  return {};
}

/// Costs of stages, and for every suffix of the chain the least bottleneck of cutting it into k stages.
class Chain {
 public:
  Chain(std::span<const double> costs, std::size_t stages, std::span<const double> cut_costs)
      : n_(costs.size()), stages_(stages), cuts_(cut_costs), prefix_(n_ + 1, 0.0), best_((n_ + 1) * (stages + 1)) {
    for (std::size_t i = 0; i < n_; ++i) prefix_[i + 1] = prefix_[i] + costs[i];
    std::fill(best_.begin(), best_.end(), std::numeric_limits<double>::infinity());
    best(n_, 0) = 0;
    for (std::size_t k = 1; k <= stages_; ++k) {
      for (std::size_t first = 0; first + k <= n_; ++first) fill(first, k);
    }
  }

  /// Cost of a stage of operators [first, last).
  double cost(std::size_t first, std::size_t last) const {
    double sum = prefix_[last] - prefix_[first];
    if (!cuts_.empty() && first > 0) sum += cuts_[first];
    if (!cuts_.empty() && last < n_) sum += cuts_[last];
    return sum;
  }

  /// Walks from the first stage on: of all ends that keep the least bottleneck, the cheapest stage, then the shortest.
  Partition cut() {
    Partition partition{{}, best(0, stages_)};
    std::size_t first = 0;
    for (std::size_t k = stages_; k > 0; --k) {
      partition.begins.push_back(first);
      std::size_t chosen = n_;
      for (std::size_t last = first + 1; last <= n_; ++last) {
        if (std::max(cost(first, last), best(last, k - 1)) > partition.bottleneck) continue;
        if (chosen == n_ || cost(first, last) < cost(first, chosen)) chosen = last;
      }
      first = chosen;
    }
    return partition;
  }

 private:
  double& best(std::size_t first, std::size_t k) { return best_[first * (stages_ + 1) + k]; }
  void fill(std::size_t first, std::size_t k) {
    for (std::size_t last = first + 1; last <= n_; ++last) {
      best(first, k) = std::min(best(first, k), std::max(cost(first, last), best(last, k - 1)));
    }
  }

  std::size_t n_, stages_;
  std::span<const double> cuts_;
  std::vector<double> prefix_;
  std::vector<double> best_;  // [n + 1, stages + 1]; infinite where it cannot be done
};

}  // namespace

Result<Partition> partition_chain(std::span<const double> costs, std::size_t stages,
                                  std::span<const double> cut_costs) {
  MG_RETURN_IF_ERROR(check(costs, stages, cut_costs));
  return Chain(costs, stages, cut_costs).cut();
}

}  // namespace mangrove::plan
