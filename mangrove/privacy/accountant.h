#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::privacy {

/// What somebody wants: with and without any one record, every outcome is at most exp(epsilon) times as probable, but
/// for outcomes of probability delta. Both above 0, delta below 1.
struct Budget {
  double epsilon = 0, delta = 0;
};

/// What steps of the sampled Gaussian mechanism cost, by Rényi divergences at many orders (see renyi.h).
/// threads: immutable; any.
class Accountant {
 public:
  static constexpr double kLeastNoise = 0.01, kMostNoise = 1e6;

  /// rate: with which each record is in a step, above 0 and at most 1. noise: standard deviation by the most that a
  /// record adds, from kLeastNoise to kMostNoise.
  Accountant(double rate, double noise);

  double rate() const { return rate_; }
  double noise() const { return noise_; }
  /// That so many steps are (epsilon, delta)-differentially private for. 0 for no step.
  double epsilon(std::int64_t steps, double delta) const;
  /// The most steps within the budget, at most `most`. cost: some dozens of epsilon().
  std::int64_t steps_within(const Budget& budget, std::int64_t most) const;

  /// With the least noise, to a thousandth, with which so many steps are within the budget. errors: invalid_argument
  /// (no noise is enough, as the orders go to 512 only: says the least epsilon).
  static Result<Accountant> for_steps(const Budget& budget, double rate, std::int64_t steps);

 private:
  double rate_, noise_;
  std::vector<double> step_;  // divergence of a step at each order
};

}  // namespace mangrove::privacy
