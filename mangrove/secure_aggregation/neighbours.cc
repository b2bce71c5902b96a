#include "mangrove/secure_aggregation/neighbours.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "mangrove/base/check.h"
#include "mangrove/secure_aggregation/shamir.h"

namespace mangrove::secure {
namespace {

const double kMostFailures = std::ldexp(1.0, -20);
const double kMostLeaks = std::ldexp(1.0, -40);

/// log of the number of ways to draw k of n.
double log_ways(std::size_t n, std::size_t k) {
  const auto log_factorial = [](std::size_t m) { return std::lgamma(static_cast<double>(m) + 1); };
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

/// The probability that `drawn` of n contain exactly x of `marked`.
double probability(std::size_t n, std::size_t marked, std::size_t drawn, std::size_t x) {
  if (x > marked || x > drawn || drawn - x > n - marked) return 0;
  return std::exp(log_ways(marked, x) + log_ways(n - marked, drawn - x) - log_ways(n, drawn));
}

/// With the highest threshold for which rounds rarely fail, if it is high enough to hide the secrets.
std::optional<Connections> connections(std::size_t clients, std::size_t degree) {
  const std::size_t dropped = clients / 3, corrupt = clients / 5, holders = degree + 1;
  const auto all = static_cast<double>(clients);
  const double gone = static_cast<double>(dropped + corrupt) / all;
  if (all * std::pow(gone, static_cast<double>(degree / 2)) > kMostLeaks) return std::nullopt;
  std::size_t threshold = 0;
  for (double failures = 0; threshold < holders; ++threshold) {
    failures += all * probability(clients, clients - dropped, holders, threshold);  // exactly so many are left
    if (failures > kMostFailures) break;
  }
  double leaks = 0;
  for (std::size_t known = degree; known >= threshold && known > 0; --known)
    leaks += all * probability(clients - 1, corrupt, degree, known);
  return threshold > 0 && leaks <= kMostLeaks ? std::optional(Connections{degree, threshold}) : std::nullopt;
}

}  // namespace

Result<Connections> choose_connections(std::size_t clients) {
  if (clients < kFewestClients || clients > kMostClients) {
    return make_error(Code::invalid_argument,
                      "a secure sum is made of the vectors of " + std::to_string(kFewestClients) + " to " +
                          std::to_string(kMostClients) + " clients, not of " + std::to_string(clients));
  }
  for (std::size_t degree = 2; degree < std::min(clients - 1, kMostShares); degree += 2)
    if (const auto found = connections(clients, degree)) return *found;
  MG_CHECK(clients <= kMostShares);  // the test goes through all numbers
  return Connections{clients - 1, std::max(kFewestClients, clients - clients / 3)};
}

std::map<ClientId, std::vector<ClientId>> draw_neighbours(std::span<const ClientId> clients, std::size_t degree,
                                                          Random& random) {
  MG_CHECK(degree + 1 == clients.size() || (degree % 2 == 0 && degree < clients.size()));
  std::vector<ClientId> circle(clients.begin(), clients.end());
  random.shuffle(std::span(circle));
  std::map<ClientId, std::vector<ClientId>> neighbours;
  for (std::size_t i = 0; i < circle.size(); ++i) {
    std::vector<ClientId>& of = neighbours[circle[i]];
    const std::size_t before = degree / 2;
    for (std::size_t step = 1; step <= degree; ++step) {
      const std::size_t place = step <= before ? circle.size() - step : step - before;
      of.push_back(circle[(i + place) % circle.size()]);
    }
    std::ranges::sort(of);
  }
  return neighbours;
}

}  // namespace mangrove::secure
