#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "mangrove/place/scenario.h"

namespace mangrove::place {

/// The tasks of a service, each behind those that it has inputs of; none if the flows go in a circle.
std::optional<std::vector<std::size_t>> topological_order(const Service& service);

/// How often a service's tasks are executed, and what its flows carry.
struct ServiceRates {
  std::vector<double> tasks;         // executions a second
  std::vector<double> flows;         // items a second
  std::vector<double> flow_weights;  // part of the inputs of a task that waits for any; their sum is 1 for each task
  std::vector<double> sink_weights;  // by task: part of all that the sinks get; 0: it is no sink
};
/// order: topological_order(service).
ServiceRates rates_of(const Service& service, const std::vector<std::size_t>& order);

}  // namespace mangrove::place
