#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mangrove/base/units.h"

namespace mangrove::serve {

/// When a new version of a model is good enough to take over.
struct TrialRule {
  double share = 0.1;           // of the requests that the new version gets, above 0 and at most kLargestShare
  std::int64_t requests = 200;  // that the new version must have answered before it takes over
  double slowdown = 1.25;       // it may take so many times as long as the old one ...
  Seconds slack = 0.001;        // ... and this longer
  double significance = 0.01;   // probability of going back although the new version is as good, of each test
  Seconds at_most = 600;        // where too few requests come in this time, the old version stays
};

/// With more, too few requests would tell what the old version does meanwhile.
constexpr double kLargestShare = 0.5;
constexpr std::int64_t kMostTrialRequests = 100'000;

/// What became of the requests of one version.
struct TrialRecord {
  std::int64_t requests = 0;
  std::int64_t failures = 0;            // errors that are not the client's, and answers with numbers that are none
  std::vector<Seconds> latencies = {};  // of the answers

  static void fields(auto& self, auto& field) {
    field("requests", self.requests);
    field("failures", self.failures);
  }
};

struct TrialVerdict {
  bool takes_over = false;
  std::string reason;  // a sentence for people
};

/// The numbers of requests of the new version at which it is compared with the old one: a quarter, a half and all of
/// them, 1 at least.
std::vector<std::int64_t> trial_looks(const TrialRule& rule);

/// Compares the versions. Nothing: it is too early to tell. Each look tests two things, each with a third of
/// `significance`, because there are three looks (Bonferroni):
/// * whether the new version fails more often: Fisher's exact test, one-sided;
/// * whether its answers take longer than `slowdown` times those of the old one and `slack`: the test of Mann and
///   Whitney, one-sided, with the normal approximation. Latencies have no normal distribution, so ranks are compared.
/// cost: n log n of the latencies. source: Fisher, On the interpretation of chi-squared from contingency tables, 1922;
/// Mann & Whitney, On a test of whether one of two random variables is stochastically larger than the other, 1947.
std::optional<TrialVerdict> judge_trial(const TrialRule& rule, const TrialRecord& old, const TrialRecord& fresh);

/// The probability of at least so many failures among the requests of the new version, if both fail equally often.
double more_failures_by_chance(const TrialRecord& old, const TrialRecord& fresh);
/// The probability that the values of `fresh` have ranks at least as high as they have, if both are alike; 1 where one
/// of both has none.
double larger_by_chance(const std::vector<double>& old, const std::vector<double>& fresh);

}  // namespace mangrove::serve
