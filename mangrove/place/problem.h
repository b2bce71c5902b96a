#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/place/routes.h"
#include "mangrove/place/scenario.h"
#include "mangrove/place/service_graph.h"

namespace mangrove::place {

/// What lies on one device: a task of a service, or of one of its copies. Tasks that have their device are there once,
/// for all copies.
struct Part {
  std::size_t service = 0, task = 0;
  std::size_t copy = 0;
  double rate = 0;                                               // executions a second
  std::shared_ptr<const std::vector<std::uint32_t>> candidates;  // devices that it may be on, in their order
};

/// What travels between two parts.
struct PartFlow {
  std::size_t from = 0, to = 0;  // parts
  double rate = 0;               // items a second
  double bytes = 0;              // of an item
  std::size_t number = 0;        // among the flows of its service
};

/// A device for each part.
using Placement = std::vector<std::uint32_t>;
inline constexpr std::uint32_t kNowhere = 0xffff'ffff;  // of a part that has no device yet

/// Where parts were, when they are placed anew.
struct Before {
  Placement devices;                                                 // kNowhere: it was nowhere, or its device is gone
  std::size_t most_moves = std::numeric_limits<std::size_t>::max();  // of parts that could stay
};

/// A scenario in the form that solvers need. threads: one at a time, since ways are looked for when they are asked for.
class Problem {
 public:
  /// What a service needs for its latency.
  struct ServiceGraph {
    std::vector<std::size_t> order;  // of tasks
    ServiceRates rates;
    std::vector<std::vector<std::size_t>> inputs;  // by task: numbers of flows
    std::vector<std::vector<std::size_t>> parts;   // by copy and task
  };

  explicit Problem(Scenario scenario);
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  const Scenario& scenario() const { return scenario_; }
  const std::vector<Part>& parts() const { return parts_; }
  const std::vector<PartFlow>& flows() const { return flows_; }
  const std::vector<std::size_t>& flows_of(std::size_t part) const { return flows_of_[part]; }
  const ServiceGraph& graph(std::size_t service) const { return graphs_[service]; }
  Routes& routes() const { return *routes_; }

  const Task& task(std::size_t part) const { return task_of(parts_[part]); }
  const Service& service(std::size_t part) const { return scenario_.services[parts_[part].service]; }
  /// Has its device, so that all copies of its service have it in common.
  bool is_shared(std::size_t part) const { return task(part).device.has_value(); }
  /// "watch/detect", of a copy "watch/detect (copy 2)".
  std::string part_name(std::size_t part) const;

  /// How long an execution takes, on a device that can run it.
  Seconds time(std::size_t part, std::size_t device) const { return time_of(task(part), scenario_.devices[device]); }
  /// Whether it runs on the accelerator there.
  bool is_accelerated(std::size_t part, std::size_t device) const {
    return is_accelerated(task(part), scenario_.devices[device]);
  }
  /// The share of the time that it keeps the device's cores, or its accelerator, busy.
  double load(std::size_t part, std::size_t device) const {
    const double busy = parts_[part].rate * time(part, device);
    return is_accelerated(part, device) ? busy : busy / scenario_.devices[device].cores;
  }
  /// The same when the service's rate is at its peak.
  double peak_load(std::size_t part, std::size_t device) const { return load(part, device) * service(part).growth(); }

  /// Whether there is a way between these devices for the flow: it takes that of least delay, or none.
  bool can_go(const PartFlow& flow, std::uint32_t from, std::uint32_t to) const;

  /// before: a device, or kNowhere, for each part.
  void set_before(Before before) { before_ = std::move(before); }
  const Before& before() const { return before_; }
  /// Whether the part could stay where it was, and would not. Parts that have their device never move.
  bool is_move(std::size_t part, std::uint32_t device) const {
    return !before_.devices.empty() && before_.devices[part] != kNowhere && before_.devices[part] != device &&
           !is_shared(part);
  }

  /// By part: the devices that it may be on.
  std::vector<std::vector<std::uint32_t>> candidates() const;
  /// Why the part cannot be on this device, whatever lies there beside it; empty: it can.
  std::string why_not(std::size_t part, std::size_t device) const;

 private:
  static bool is_accelerated(const Task& task, const Device& device) {
    return !device.accelerator.empty() && task.needs == device.accelerator;
  }
  static Seconds time_of(const Task& task, const Device& device) {
    if (device.is_outside) return 0;
    if (!task.times.empty()) {
      const auto found = task.times.find(device.kind);
      return found != task.times.end() ? found->second : task.times.at(device.name);
    }
    return task.operations / (is_accelerated(task, device) ? device.accelerator_flops : device.flops);
  }
  const Task& task_of(const Part& part) const { return scenario_.services[part.service].tasks[part.task]; }
  void add_service(std::size_t service);
  void find_candidates();

  Scenario scenario_;
  std::vector<Part> parts_;
  std::vector<PartFlow> flows_;
  std::vector<std::vector<std::size_t>> flows_of_;
  std::vector<ServiceGraph> graphs_;
  std::unique_ptr<Routes> routes_;
  Before before_;
};

/// How much more than a limit is still within it, as a share: of the rounding of solvers.
inline constexpr double kTolerance = 1e-6;

}  // namespace mangrove::place
