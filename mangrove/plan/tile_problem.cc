#include "mangrove/plan/tile_problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "mangrove/plan/figures.h"

namespace mangrove::plan {
namespace {

Status check_tile_device(const TileDevice& device, std::size_t operators) {
  if (device.seconds.size() != operators)
    return make_error(Code::invalid_argument,
                      fmt::format("times of {} operators, the network has {}", device.seconds.size(), operators));
  if (!std::ranges::all_of(device.seconds, is_time))
    return make_error(Code::invalid_argument, "an operator's time is negative, above 1e9 s or not a number");
  if (!is_memory(device.memory) || !is_memory(device.reserved) || !is_rate(device.rate) || !is_time(device.delay) ||
      !is_time(device.byte_seconds) || !is_time(device.message_seconds))
    return make_error(Code::invalid_argument, "a figure is negative, beyond all bounds or not a number");
  return {};
}

}  // namespace

Status check(const TileProblem& problem) {
  const std::size_t operators = problem.graph.nodes().size();
  if (operators == 0) return make_error(Code::invalid_argument, "a network without operators cannot be planned");
  if (problem.batch < 1) return make_error(Code::invalid_argument, "a micro-batch without samples");
  if (problem.devices.empty()) return make_error(Code::invalid_argument, "no device to plan for");
  for (const TileDevice& device : problem.devices)
    MG_RETURN_IF_ERROR(check_tile_device(device, operators).context("device '" + device.name + "'"));
  for (const auto& [pair, way] : problem.ways)
    if (pair.first >= pair.second || pair.second >= problem.devices.size() || !is_rate(way.rate) || !is_time(way.delay))
      return make_error(Code::invalid_argument, "a way must be between two devices, its figures in bounds");
  if (!problem.weights.empty() &&
      (problem.weights.size() != operators || !std::ranges::all_of(problem.weights, is_memory)))
    return make_error(Code::invalid_argument,
                      fmt::format("weights of {} operators, the network has {}; or they are out of bounds",
                                  problem.weights.size(), operators));
  if (problem.objective == Objective::energy)
    return make_error(Code::invalid_argument, "tiles are planned for latency or throughput, not for energy");
  return {};
}

}  // namespace mangrove::plan
