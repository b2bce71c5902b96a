#include "mangrove/plan/problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "mangrove/plan/figures.h"

namespace mangrove::plan {
namespace {

constexpr std::int64_t kMostAhead = 1'000'000;

Status check_device(const Device& device, std::size_t layers, Objective objective) {
  if (device.seconds.size() != layers)
    return make_error(Code::invalid_argument,
                      fmt::format("times of {} layers, the network has {}", device.seconds.size(), layers));
  if (!std::ranges::all_of(device.seconds, is_time))
    return make_error(Code::invalid_argument, "a layer's time is negative, above 1e9 s or not a number");
  const bool good = is_memory(device.memory) && is_memory(device.reserved) && is_rate(device.rate) &&
                    is_time(device.delay) && is_rate(device.handling) && is_amount(device.watts) &&
                    is_time(device.overhead);
  if (!good) return make_error(Code::invalid_argument, "a figure is negative, beyond all bounds or not a number");
  if (objective == Objective::energy && device.watts == 0)
    return make_error(Code::invalid_argument, "no watts: energy cannot be planned without");
  return {};
}

}  // namespace

Status check(const Problem& problem) {
  MG_RETURN_IF_ERROR(check(problem.network));
  if (problem.devices.empty()) return make_error(Code::invalid_argument, "no device to plan for");
  for (const Device& device : problem.devices)
    MG_RETURN_IF_ERROR(
        check_device(device, problem.network.layers.size(), problem.objective).context("device '" + device.name + "'"));
  if (problem.training && problem.objective != Objective::throughput)
    return make_error(Code::invalid_argument, "training is planned for throughput only");
  const TrainingSchedule& schedule = problem.schedule;
  if (!is_amount(schedule.copies) || schedule.copies < 1 || !is_amount(schedule.messages) || schedule.ahead < 0 ||
      schedule.ahead > kMostAhead || schedule.at_once < 0 || schedule.per_update < 0)
    return make_error(Code::invalid_argument, "a figure of the training schedule is out of bounds");
  for (const auto& [pair, way] : problem.ways)
    if (pair.first >= pair.second || pair.second >= problem.devices.size() || !is_rate(way.rate) || !is_time(way.delay))
      return make_error(Code::invalid_argument, "a way must be between two devices, its figures in bounds");
  return {};
}

}  // namespace mangrove::plan
