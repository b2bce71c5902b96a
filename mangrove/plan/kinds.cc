#include "mangrove/plan/kinds.h"

namespace mangrove::plan {
namespace {

bool are_alike(const Problem& problem, std::size_t a, std::size_t b) {
  const Device& x = problem.devices[a];
  const Device& y = problem.devices[b];
  if (x.memory != y.memory || x.reserved != y.reserved || x.rate != y.rate || x.delay != y.delay ||
      x.handling != y.handling || x.watts != y.watts || x.overhead != y.overhead || x.seconds != y.seconds)
    return false;
  for (std::size_t other = 0; other < problem.devices.size(); ++other)
    if (other != a && other != b && !(problem.way(a, other) == problem.way(b, other))) return false;
  return true;
}

}  // namespace

std::vector<std::vector<std::size_t>> interchangeable(const Problem& problem) {
  std::vector<std::vector<std::size_t>> kinds;
  for (std::size_t d = 0; d < problem.devices.size(); ++d) {
    bool is_new = true;
    for (std::size_t k = 0; k < kinds.size() && is_new; ++k) {
      if (!are_alike(problem, kinds[k].front(), d)) continue;
      kinds[k].push_back(d);
      is_new = false;
    }
    if (is_new) kinds.push_back({d});
  }
  return kinds;
}

Counts::Counts(const std::vector<std::vector<std::size_t>>& kinds) {
  for (const auto& kind : kinds) {
    sizes_.push_back(kind.size());
    strides_.push_back(states_);
    states_ *= kind.size() + 1;
  }
  for (std::size_t state = 0; state < states_; ++state)
    for (std::size_t kind = 0; kind < sizes_.size(); ++kind)
      counts_.push_back(static_cast<std::uint16_t>(state / strides_[kind] % (sizes_[kind] + 1)));
}

std::size_t Counts::total(std::size_t state) const {
  std::size_t sum = 0;
  for (std::size_t kind = 0; kind < kinds(); ++kind) sum += of(state, kind);
  return sum;
}

bool Counts::exceeds(const std::vector<std::vector<std::size_t>>& kinds, std::size_t most) {
  std::size_t states = 1;
  for (const auto& kind : kinds) {
    states *= kind.size() + 1;
    if (states > most) return true;
  }
  return false;
}

}  // namespace mangrove::plan
