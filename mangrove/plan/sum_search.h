#pragma once

#include <queue>
#include <unordered_map>
#include <vector>

#include "mangrove/plan/pipeline_search.h"

namespace mangrove::plan {

/// Finds the pipeline with one device for each stage that has the least sum over its stages: of time (latency) or of
/// energy. Among equal ones it finds one with the fewest devices. A* from the last stage to the first; the cost of the
/// rest is estimated by each layer's least cost on any kind of device. Exact. source: Hart, Nilsson, Raphael, A formal
/// basis for the heuristic determination of minimum cost paths, 1968. threads: one at a time.
class SumSearch {
 public:
  /// The arguments must outlive it. problem.objective: latency or energy.
  SumSearch(const Problem& problem, const std::vector<std::vector<std::size_t>>& kinds, const StageCosts& costs,
            const DeviceRange& range);

  struct Found {
    std::vector<Part> parts;  // empty: no such pipeline fits the devices' memory
    bool is_best = true;      // false: the search was given up, so there may be a better pipeline
  };
  /// To be called once.
  Found find();

  static constexpr std::size_t kMostSteps = 20'000'000;  // stages that are tried
  static constexpr std::size_t kMostRows = 2'000'000;    // rows that are kept

 private:
  /// A row of stages up to the end.
  struct Row {
    std::size_t state;  // its devices, see Counts
    std::size_t devices;
    std::size_t kind;  // kind of its first stage's device
    std::size_t cut;   // the cut at which it begins
    double cost;
    std::size_t next;  // the row behind its first stage
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
  std::vector<Team> singles_;  // a team of one device, for each kind
  std::vector<double> least_;  // least cost of the layers before each cut
  std::vector<Row> rows_;
  std::priority_queue<Entry> queue_;
  std::unordered_map<std::size_t, double> best_;  // cost of each (devices, first kind, cut)
  std::size_t steps_ = 0;
};

}  // namespace mangrove::plan
