#include "mangrove/serve/update/trial_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mangrove/base/format.h"
#include "mangrove/base/median.h"

namespace mangrove::serve {
namespace {

constexpr double kLooks = 3;

double log_choose(std::int64_t n, std::int64_t k) {
  const auto log_factorial = [](std::int64_t m) { return std::lgamma(static_cast<double>(m) + 1); };
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

std::string failures_text(const TrialRecord& record) {
  return fmt::format("{} of {}", format_count(record.failures), format_things(record.requests, "request"));
}

}  // namespace

std::vector<std::int64_t> trial_looks(const TrialRule& rule) {
  std::vector<std::int64_t> looks;
  for (const std::int64_t look : {rule.requests / 4, rule.requests / 2, rule.requests})
    looks.push_back(std::max<std::int64_t>(1, look));
  return looks;
}

double more_failures_by_chance(const TrialRecord& old, const TrialRecord& fresh) {
  const std::int64_t all = old.requests + fresh.requests, failures = old.failures + fresh.failures;
  double probability = 0;
  for (std::int64_t k = fresh.failures; k <= std::min(failures, fresh.requests); ++k) {
    if (failures - k > old.requests) continue;
    probability +=
        std::exp(log_choose(fresh.requests, k) + log_choose(old.requests, failures - k) - log_choose(all, failures));
  }
  return std::min(probability, 1.0);
}

double larger_by_chance(const std::vector<double>& old, const std::vector<double>& fresh) {
  if (old.empty() || fresh.empty()) return 1;
  std::vector<double> sorted = old;
  std::ranges::sort(sorted);
  double pairs = 0;  // in which the new one is larger; ties count half
  for (const double value : fresh) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    pairs += static_cast<double>(first - sorted.begin()) + static_cast<double>(last - first) / 2;
  }
  const auto m = static_cast<double>(fresh.size()), n = static_cast<double>(old.size());
  const double z = (pairs - m * n / 2 - 0.5) / std::sqrt(m * n * (m + n + 1) / 12);
  return std::erfc(z / std::sqrt(2.0)) / 2;
}

std::optional<TrialVerdict> judge_trial(const TrialRule& rule, const TrialRecord& old, const TrialRecord& fresh) {
  const std::vector<std::int64_t> looks = trial_looks(rule);
  if (std::ranges::find(looks, fresh.requests) == looks.end()) return std::nullopt;
  const double level = rule.significance / kLooks;
  if (more_failures_by_chance(old, fresh) < level)
    return TrialVerdict{false,
                        "it fails more often: " + failures_text(fresh) + ", the version before " + failures_text(old)};
  std::vector<double> allowed = old.latencies;
  for (double& latency : allowed) latency = latency * rule.slowdown + rule.slack;
  if (larger_by_chance(allowed, fresh.latencies) < level)
    return TrialVerdict{false,
                        fmt::format("it is slower: half of its answers take more than {}, those of the version "
                                    "before more than {}",
                                    format_seconds(median(fresh.latencies)), format_seconds(median(old.latencies)))};
  if (fresh.requests < looks.back()) return std::nullopt;
  return TrialVerdict{true, fmt::format("it is as good as the version before: {} failed, half of its answers take "
                                        "more than {}, those of the version before more than {}",
                                        failures_text(fresh), format_seconds(median(fresh.latencies)),
                                        format_seconds(median(old.latencies)))};
}

}  // namespace mangrove::serve
