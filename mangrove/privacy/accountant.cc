#include "mangrove/privacy/accountant.h"

#include <cmath>

#include "mangrove/base/check.h"
#include "mangrove/base/format.h"
#include "mangrove/privacy/renyi.h"

namespace mangrove::privacy {
namespace {

/// Small orders decide where epsilon is large, large ones where it is small.
const std::vector<double>& orders() {
  static const std::vector<double> all = [] {
    std::vector<double> list;
    for (int tenths = 11; tenths < 110; ++tenths) list.push_back(tenths / 10.0);
    for (int order = 11; order <= 64; ++order) list.push_back(order);
    for (const int order : {80, 96, 128, 192, 256, 512}) list.push_back(order);
    return list;
  }();
  return all;
}

}  // namespace

Accountant::Accountant(double rate, double noise) : rate_(rate), noise_(noise) {
  MG_CHECK(rate > 0 && rate <= 1 && noise >= kLeastNoise && noise <= kMostNoise);
  for (const double order : orders()) step_.push_back(renyi_of_sampled_gaussian(rate, noise, order));
}

double Accountant::epsilon(std::int64_t steps, double delta) const {
  if (steps == 0) return 0;
  std::vector<double> all = step_;
  for (double& divergence : all) divergence *= static_cast<double>(steps);
  return epsilon_of_renyi(orders(), all, delta);
}

std::int64_t Accountant::steps_within(const Budget& budget, std::int64_t most) const {
  std::int64_t enough = 0, too_many = most + 1;
  while (too_many - enough > 1) {
    const std::int64_t middle = enough + (too_many - enough) / 2;
    (epsilon(middle, budget.delta) <= budget.epsilon ? enough : too_many) = middle;
  }
  return enough;
}

Result<Accountant> Accountant::for_steps(const Budget& budget, double rate, std::int64_t steps) {
  constexpr double kStep = 1.001;
  const auto fits = [&](double noise) {
    return Accountant(rate, noise).epsilon(steps, budget.delta) <= budget.epsilon;
  };
  if (!fits(kMostNoise)) {
    const double least = Accountant(rate, kMostNoise).epsilon(steps, budget.delta);
    return make_error(Code::invalid_argument, "epsilon: the least that can be shown for delta " +
                                                  format_number(budget.delta) + " is " + format_number(least) +
                                                  ", got " + format_number(budget.epsilon));
  }
  double too_little = kLeastNoise, enough = kMostNoise;
  if (fits(too_little)) return Accountant(rate, too_little);
  while (enough > too_little * kStep) {
    const double middle = std::sqrt(too_little * enough);
    (fits(middle) ? enough : too_little) = middle;
  }
  return Accountant(rate, enough);
}

}  // namespace mangrove::privacy
