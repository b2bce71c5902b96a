#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mangrove/graph/exits.h"

namespace mangrove::exits {

/// The share of all samples that leaves at each exit but the last, where the network's metadata say that it is to be
/// kept; else nothing. errors: invalid_argument (no such shares, or another number of them than of early exits).
Result<std::optional<std::vector<float>>> kept_exit_shares(const Graph& network);

/// Moves the thresholds of early exits with the inputs, so that the shares of the samples that leave stay those that
/// were tuned, and with them time and traffic. Of the samples that come to an exit, each that leaves lowers its
/// threshold a little, each that stays raises it: stochastic approximation of a quantile. On the scale of
/// log(threshold / (1 - threshold)), which ends at -80 and 14, a step is kRate times what the sample adds to the
/// deviation from the share. So of n samples, classified one by one, the share that leaves an exit deviates by how far
/// its threshold has moved on that scale, divided by kRate n, whatever the inputs are.
/// source: Robbins & Monro, A stochastic approximation method, Annals of Mathematical Statistics 22, 1951; the bound is
/// that of Gibbs & Candes, Adaptive conformal inference under distribution shift, NeurIPS 2021, proposition 4.1.
/// threads: one at a time.
class ExitKeeper {
 public:
  static constexpr double kRate = 0.02;

  /// thresholds: those that were tuned, in [0, 1]; shares: of all samples, at most 1 together. One of each for each
  /// exit but the last. An exit that none or all left that came to it keeps its threshold.
  ExitKeeper(std::vector<float> thresholds, std::span<const float> shares);

  const std::vector<float>& thresholds() const { return thresholds_; }
  /// A sample was classified. entropies: normalised, by exit; NaN from the first on that it did not come to.
  void saw(std::span<const float> entropies);

 private:
  std::vector<float> thresholds_;
  std::vector<double> log_odds_;  // of the thresholds
  std::vector<double> wanted_;    // share of those that come to the exit
};

}  // namespace mangrove::exits
