#include "mangrove/exits/keeper.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/exits/early_exit.h"

namespace mangrove::exits {
namespace {

constexpr double kLeastLogOdds = -80, kMostLogOdds = 14;  // thresholds from 2e-35 to 1 - 8e-7, as f32 can tell apart
constexpr double kShareRounding = 1e-3;                   // of shares

}  // namespace

Result<std::optional<std::vector<float>>> kept_exit_shares(const Graph& network) {
  const auto stored = network.metadata().find(kExitSharesKey);
  if (stored == network.metadata().end()) return std::nullopt;
  MG_TRY(std::vector<float> shares, parse_exit_numbers("exit_shares", stored->second, network).context("its metadata"));
  if (std::accumulate(shares.begin(), shares.end(), 0.0) > 1 + kShareRounding)
    return make_error(Code::invalid_argument,
                      "its metadata: exit_shares: more than 1 together: '" + stored->second + "'");
  return shares;
}

ExitKeeper::ExitKeeper(std::vector<float> thresholds, std::span<const float> shares)
    : thresholds_(std::move(thresholds)) {
  MG_CHECK(thresholds_.size() == shares.size());
  double come = 1;
  for (std::size_t exit = 0; exit < shares.size(); ++exit) {
    const double share = shares[exit], threshold = thresholds_[exit];
    wanted_.push_back(come > kShareRounding ? share / come : 0);
    log_odds_.push_back(std::clamp(std::log(threshold / (1 - threshold)), kLeastLogOdds, kMostLogOdds));
    come -= share;
  }
}

void ExitKeeper::saw(std::span<const float> entropies) {
  for (std::size_t exit = 0; exit < thresholds_.size() && !std::isnan(entropies[exit]); ++exit) {
    if (wanted_[exit] < kShareRounding || wanted_[exit] > 1 - kShareRounding) continue;
    const double left = entropies[exit] <= thresholds_[exit] ? 1 : 0;
    double& log_odds = log_odds_[exit];
    log_odds = std::clamp(log_odds + kRate * (wanted_[exit] - left), kLeastLogOdds, kMostLogOdds);
    thresholds_[exit] = static_cast<float>(1 / (1 + std::exp(-log_odds)));
  }
}

}  // namespace mangrove::exits
