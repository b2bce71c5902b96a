#include "mangrove/place/time_windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mangrove::place {

TimeWindows::TimeWindows(const Problem& problem, std::vector<std::vector<std::uint32_t>>& candidates)
    : problem_(problem), candidates_(candidates), done_(candidates.size()), rest_(candidates.size()) {
  for (std::size_t s = 0; s < problem.scenario().services.size(); ++s) {
    const Seconds deadline = problem.scenario().services[s].deadline;
    if (!std::isfinite(deadline)) continue;
    for (const std::vector<std::size_t>& parts : problem.graph(s).parts) {
      find(s, parts);
      for (const std::size_t part : parts) take_out_late(part, deadline);
    }
  }
}

/// parts: those of one copy.
void TimeWindows::find(std::size_t s, const std::vector<std::size_t>& parts) {
  const Service& service = problem_.scenario().services[s];
  const Problem::ServiceGraph& graph = problem_.graph(s);
  for (const std::size_t part : parts) done_[part].assign(candidates_[part].size(), 0);
  for (const std::size_t part : parts) rest_[part].assign(candidates_[part].size(), 0);
  const auto raise = [&](Seconds& time, std::uint32_t device, const Flow& flow, Direction direction) {
    const std::size_t other = parts[direction == Direction::from ? flow.from : flow.to];
    time = std::max(time, least(device, other, static_cast<double>(flow.bytes), direction));
  };
  for (const std::size_t t : graph.order) {
    const std::size_t part = parts[t];
    for (std::size_t i = 0; i < candidates_[part].size(); ++i) {
      for (const std::size_t f : graph.inputs[t])
        raise(done_[part][i], candidates_[part][i], service.flows[f], Direction::from);
      done_[part][i] += problem_.time(part, candidates_[part][i]);
    }
  }
  for (auto t = graph.order.rbegin(); t != graph.order.rend(); ++t) {
    const std::size_t part = parts[*t];
    for (const Flow& flow : service.flows) {
      if (flow.from != *t) continue;
      for (std::size_t i = 0; i < candidates_[part].size(); ++i)
        raise(rest_[part][i], candidates_[part][i], flow, Direction::to);
    }
  }
}

Seconds TimeWindows::least(std::uint32_t device, std::size_t other, double bytes, Direction direction) const {
  Routes& routes = problem_.routes();
  Seconds best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < candidates_[other].size(); ++i) {
    const std::uint32_t there = candidates_[other][i];
    const bool comes = direction == Direction::from;
    const std::uint32_t from = comes ? there : device, to = comes ? device : there;
    if (!routes.is_connected(from, to)) continue;
    const Seconds beyond = comes ? done_[other][i] : problem_.time(other, there) + rest_[other][i];
    best = std::min(best, routes.worst_time(from, to, bytes) + beyond);
  }
  return best;
}

void TimeWindows::take_out_late(std::size_t part, Seconds deadline) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < candidates_[part].size(); ++i) {
    if (!(done_[part][i] + rest_[part][i] <= deadline * (1 + kTolerance))) continue;
    candidates_[part][kept] = candidates_[part][i];
    done_[part][kept] = done_[part][i];
    rest_[part][kept++] = rest_[part][i];
  }
  candidates_[part].resize(kept);
  done_[part].resize(kept);
  rest_[part].resize(kept);
}

bool TimeWindows::allows(const PartFlow& flow, std::size_t i, std::size_t j) const {
  const std::uint32_t from = candidates_[flow.from][i], to = candidates_[flow.to][j];
  const Seconds way = problem_.routes().worst_time(from, to, flow.bytes);
  return done_[flow.from][i] + way + problem_.time(flow.to, to) + rest_[flow.to][j] <=
         problem_.service(flow.from).deadline * (1 + kTolerance);
}

}  // namespace mangrove::place
