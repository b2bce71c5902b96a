#include <algorithm>
#include <numeric>
#include <vector>

#include "mangrove/place/choices.h"
#include "mangrove/place/solvers/common.h"
#include "mangrove/place/solvers/rows.h"

namespace mangrove::place {
namespace {

// source: Topcuoglu, Hariri & Wu, Performance-effective and low-complexity task scheduling for heterogeneous computing,
// 2002 (HEFT). One item of each service is scheduled. A device that the part would overload is taken last.

/// Devices evenly out of a list.
std::vector<std::uint32_t> some_of(const std::vector<std::uint32_t>& devices) {
  constexpr std::size_t kSome = 16;
  if (devices.size() <= kSome) return devices;
  std::vector<std::uint32_t> some;
  for (std::size_t i = 0; i < kSome; ++i) some.push_back(devices[i * devices.size() / kSome]);
  return some;
}

class Ranking {
 public:
  explicit Ranking(const Problem& problem) : problem_(problem), ranks_(problem.parts().size(), 0) {
    for (const std::size_t part : reversed(parts_in_order(problem))) ranks_[part] = time(part) + rest(part);
  }
  /// The parts, by how long it takes from them to the end, the longest first.
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> order = parts_in_order(problem_);
    std::ranges::stable_sort(order, [this](std::size_t a, std::size_t b) { return ranks_[a] > ranks_[b]; });
    return order;
  }

 private:
  static std::vector<std::size_t> reversed(std::vector<std::size_t> order) {
    std::ranges::reverse(order);
    return order;
  }
  /// Means over devices.
  Seconds time(std::size_t part) const {
    const auto devices = some_of(*problem_.parts()[part].candidates);
    Seconds sum = 0;
    for (const std::uint32_t device : devices) sum += problem_.time(part, device);
    return sum / static_cast<double>(devices.size());
  }
  Seconds way(const PartFlow& flow) const {
    Seconds sum = 0;
    double ways = 0;
    for (const std::uint32_t from : some_of(*problem_.parts()[flow.from].candidates))
      for (const std::uint32_t to : some_of(*problem_.parts()[flow.to].candidates)) {
        if (!problem_.routes().is_connected(from, to)) continue;
        sum += problem_.routes().time(from, to, flow.bytes);
        ways += 1;
      }
    return ways > 0 ? sum / ways : 0;
  }
  Seconds rest(std::size_t part) const {
    Seconds longest = 0;
    for (const std::size_t f : problem_.flows_of(part))
      if (const PartFlow& flow = problem_.flows()[f]; flow.from == part)
        longest = std::max(longest, way(flow) + ranks_[flow.to]);
    return longest;
  }

  const Problem& problem_;
  std::vector<Seconds> ranks_;
};

/// When a device is busy, in order.
class Schedule {
 public:
  /// The first time from `ready` on at which it is free for so long.
  Seconds first_gap(Seconds ready, Seconds length) const {
    Seconds begin = ready;
    for (const auto& [from, to] : busy_) {
      if (begin + length <= from) return begin;
      begin = std::max(begin, to);
    }
    return begin;
  }
  void add(Seconds begin, Seconds length) {
    const std::pair<Seconds, Seconds> slot{begin, begin + length};
    busy_.insert(std::ranges::upper_bound(busy_, slot), slot);
  }

 private:
  std::vector<std::pair<Seconds, Seconds>> busy_;
};

}  // namespace

void put_by_finish_times(const Problem& problem, State& state) {
  Choices choices(problem);
  put_fixed(problem, state);
  std::vector<Schedule> schedules(problem.scenario().devices.size());
  std::vector<Seconds> finished(problem.parts().size(), 0);
  for (const std::size_t part : Ranking(problem).order()) {
    const bool is_fixed = state.device_of(part) != kNowhere;
    const double before = state.excess();
    std::uint32_t best = kNowhere;
    std::pair<bool, Seconds> best_finish;  // whether it exceeds more than before
    for (const std::uint32_t device :
         is_fixed ? std::vector{state.device_of(part)} : choices.of(part, state.placement())) {
      Seconds ready = 0;
      for (const std::size_t f : problem.flows_of(part)) {
        const PartFlow& flow = problem.flows()[f];
        if (flow.to != part || !problem.routes().is_connected(state.device_of(flow.from), device)) continue;
        ready = std::max(ready,
                         finished[flow.from] + problem.routes().time(state.device_of(flow.from), device, flow.bytes));
      }
      const Seconds time = problem.time(part, device);
      std::pair<bool, Seconds> finish{false, schedules[device].first_gap(ready, time) + time};
      if (!is_fixed) {
        state.put(part, device);
        finish.first = state.excess() > before;
      }
      if (best == kNowhere || finish < best_finish) {
        best = device;
        best_finish = finish;
      }
    }
    state.put(part, best);
    finished[part] = best_finish.second;
    const Seconds time = problem.time(part, best);
    schedules[best].add(best_finish.second - time, time);
  }
}

Result<Solution> solve_heft(const Problem& problem, const SolveOptions& options) {
  State state(problem, options.objective);
  put_by_finish_times(problem, state);
  return solution_of(problem, options.objective, state.placement());
}

}  // namespace mangrove::place
