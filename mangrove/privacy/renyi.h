#pragma once

#include <span>

namespace mangrove::privacy {

/// The Rényi divergence of this order of one step of the sampled Gaussian mechanism: each record is in the step with
/// probability `rate`, independently of all others; each adds a vector of norm 1 at most to a sum; and the sum gets
/// Gaussian noise of standard deviation `noise` in every element. It bounds how differently the step ends with and
/// without one record. Steps add up, also where each depends on what the ones before have released.
///
/// rate   0 to 1.
/// noise  above 0.
/// order  above 1.
/// error  of the moment behind it, which is at least 1: below 1e-11.
/// source Mironov, Rényi differential privacy, CSF 2017; Mironov, Talwar & Zhang, Rényi differential privacy of the
///        sampled Gaussian mechanism, 2019, section 3.3.
double renyi_of_sampled_gaussian(double rate, double noise, double order);

/// The smallest epsilon for which something whose Rényi divergence at orders[i] is divergences[i] is (epsilon,
/// delta)-differentially private, as far as these orders say. At least 0.
/// source Canonne, Kamath & Steinke, The discrete Gaussian for differential privacy, NeurIPS 2020, proposition 12.
double epsilon_of_renyi(std::span<const double> orders, std::span<const double> divergences, double delta);

}  // namespace mangrove::privacy
