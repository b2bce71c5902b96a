#include "mangrove/privacy/renyi.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "mangrove/base/check.h"

namespace mangrove::privacy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// log(exp(a) + exp(b)).
double log_add(double a, double b) {
  const double larger = std::max(a, b);
  return larger == -kInfinity ? larger : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

/// log(exp(a) - exp(b)), a at least b.
double log_subtract(double a, double b) {
  return b == -kInfinity ? a : a + std::log(-std::expm1(b - a));
}

/// log(erfc(x)), also where erfc(x) is no double any more.
double log_erfc(double x) {
  constexpr double kLarge = 25;
  if (x < kLarge) return std::log(std::erfc(x));
  const double square = x * x;
  const double series = -1 / (2 * square) + 3 / (4 * square * square) - 15 / (8 * square * square * square);
  return -square - std::log(x) - std::log(std::numbers::pi) / 2 + std::log1p(series);
}

double log_binomial(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

/// The logarithm of the moment, where the order is a whole number: the binomial sum of the paper's section 3.3.
double log_moment_of_whole(double rate, double noise, double order) {
  double sum = -kInfinity;
  for (double k = 0; k <= order; ++k) {
    const double weight = log_binomial(order, k) + k * std::log(rate) + (order - k) * std::log1p(-rate);
    sum = log_add(sum, weight + (k * k - k) / (2 * noise * noise));
  }
  return sum;
}

/// For any other order: the two series of the paper's section 3.3, whose terms get smaller and change their sign.
double log_moment_of_fraction(double rate, double noise, double order) {
  constexpr double kNoMore = -28;  // the moment is at least 1, and the rest less than this term
  const double middle = noise * noise * std::log(1 / rate - 1) + 0.5;
  const double width = std::numbers::sqrt2 * noise;
  double positive = -kInfinity, negative = -kInfinity, log_coefficient = 0;
  bool is_positive = true;
  for (double i = 0;; ++i) {
    const double j = order - i;
    const double first = log_coefficient + i * std::log(rate) + j * std::log1p(-rate) +
                         (i * i - i) / (2 * noise * noise) + log_erfc((i - middle) / width);
    const double second = log_coefficient + j * std::log(rate) + i * std::log1p(-rate) +
                          (j * j - j) / (2 * noise * noise) + log_erfc((middle - j) / width);
    const double term = log_add(first, second) - std::numbers::ln2;
    double& sum = is_positive ? positive : negative;
    sum = log_add(sum, term);
    if (i > order && term < kNoMore) return log_subtract(positive, negative);
    log_coefficient += std::log(std::abs(j)) - std::log(i + 1);  // the next binomial coefficient of the order
    is_positive = is_positive == (j > 0);
  }
}

}  // namespace

double renyi_of_sampled_gaussian(double rate, double noise, double order) {
  MG_CHECK(rate >= 0 && rate <= 1 && noise > 0 && order > 1);
  if (rate == 0) return 0;
  if (rate == 1) return order / (2 * noise * noise);
  const bool is_whole = order == std::floor(order);
  const double moment = is_whole ? log_moment_of_whole(rate, noise, order) : log_moment_of_fraction(rate, noise, order);
  return std::max(0.0, moment / (order - 1));
}

double epsilon_of_renyi(std::span<const double> orders, std::span<const double> divergences, double delta) {
  MG_CHECK(orders.size() == divergences.size() && delta > 0 && delta < 1);
  double least = kInfinity;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const double order = orders[i];
    least = std::min(least, divergences[i] + std::log1p(-1 / order) - std::log(delta * order) / (order - 1));
  }
  return std::max(0.0, least);
}

}  // namespace mangrove::privacy
