#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "mangrove/place/objective.h"
#include "mangrove/place/problem.h"

namespace mangrove::place {

/// A placement that changes part by part, with what evaluate() says of it: a change costs what its part's flows and
/// service cost, not the whole problem. Parts may be nowhere yet: then their flows and times do not count.
/// Sums are kept as differences, so after very many changes they are rounded.
class State {
 public:
  /// objective: says what values() are. All parts are nowhere. The problem must live as long.
  State(const Problem& problem, const Objective& objective);

  /// device: one of the part's candidates, or kNowhere.
  void put(std::size_t part, std::uint32_t device);
  std::uint32_t device_of(std::size_t part) const { return placement_[part]; }
  const Placement& placement() const { return placement_; }

  /// The sum over constraints of the share of the limit that is above it; 0 (up to rounding): feasible.
  double excess() const;
  std::vector<double> values() const;
  /// What the placement comes to at a level of the objective.
  double value(std::size_t level) const;
  std::uint32_t parts_on(std::uint32_t device) const { return used_[device].parts; }

 private:
  struct Use {
    double cores = 0, accelerator = 0, memory = 0;  // with all services at their peaks
    std::uint32_t parts = 0;
  };
  struct Latency {
    Seconds mean = 0, worst = 0;
  };
  void change(std::size_t part, std::uint32_t device, double sign);
  void change_flow(const PartFlow& flow, double sign);
  void change_sharing(std::size_t part, std::uint32_t device, int sign);
  double device_excess(std::uint32_t device) const;
  double link_excess(std::size_t link) const;
  void update_latency(std::size_t service);
  /// Adds to a count; returns it.
  int count(std::uint64_t a, std::uint64_t b, std::uint32_t device, int by);

  const Problem& problem_;
  const Objective& objective_;
  Placement placement_;
  std::vector<Use> used_;
  std::vector<double> links_;
  std::vector<Latency> latencies_;
  std::vector<std::size_t> licence_of_, group_of_;  // by part; npos: none
  std::vector<std::int64_t> licensed_;              // by licence: devices
  std::unordered_map<std::uint64_t, int> counts_;
  double excess_ = 0;  // without deadlines
  double deadline_excess_ = 0;
  double unconnected_ = 0;  // flows
  double price_ = 0, carried_price_ = 0, watts_ = 0, devices_ = 0, moves_ = 0, mean_sum_ = 0;
  std::vector<Seconds> mean_, worst_;  // of the tasks of a service
};

}  // namespace mangrove::place
