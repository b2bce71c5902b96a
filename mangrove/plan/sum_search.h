#pragma once

#include <queue>
#include <unordered_map>
#include <vector>

#include "mangrove/plan/pipeline_search.h"

namespace mangrove::plan {

/// Finds the pipeline of one device a stage with the least sum over its stages: of time (latency) or of energy; of
/// equal ones, one of the fewest devices. A* from the last stage on; the rest is estimated by each layer's least cost
/// on any kind of device. Exact. source: Hart, Nilsson, Raphael, 1968. threads: one at a time.
class SumSearch {
 public:
  /// The arguments must outlive it. problem.objective: latency or energy.
  SumSearch(const Problem& problem, const std::vector<std::vector<std::size_t>>& kinds, const StageCosts& costs,
            const DeviceRange& range);

  struct Found {
    std::vector<Part> parts;  // none: there is no such pipeline that fits the devices' memory
    bool is_best = true;  // false: given up after kMostSteps or kMostRows; a better one, or one at all, there may be
  };
  /// Call it once.
  Found find();

  static constexpr std::size_t kMostSteps = 20'000'000;  // stages that are looked at
  static constexpr std::size_t kMostRows = 2'000'000;    // that are kept

 private:
  /// A row of stages up to the end.
  struct Row {
    std::size_t state;  // its devices
    std::size_t devices;
    std::size_t kind;  // of its first stage
    std::size_t cut;   // at which it begins
    double cost;
    std::size_t next;  // row behind its first stage
  };
  struct Entry {
    double bound;  // no plan that ends with this row costs less
    std::size_t row;
    bool operator<(const Entry& other) const { return bound > other.bound; }
  };
  std::size_t key(std::size_t state, std::size_t kind, std::size_t cut) const;
  double stage_cost(std::size_t kind, std::size_t first, const Row& behind) const;
  void prepend(std::size_t position);
  std::vector<Part> parts(std::size_t position) const;

  const Problem& problem_;
  const std::vector<std::vector<std::size_t>>& kinds_;
  const StageCosts& costs_;
  const DeviceRange range_;
  std::vector<Team> singles_;  // of each kind
  std::vector<double> least_;  // cost of the layers before each cut
  std::vector<Row> rows_;
  std::priority_queue<Entry> queue_;
  std::unordered_map<std::size_t, double> best_;  // cost of each (devices, first kind, cut)
  std::size_t steps_ = 0;
};

}  // namespace mangrove::plan
