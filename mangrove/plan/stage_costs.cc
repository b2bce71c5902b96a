#include "mangrove/plan/stage_costs.h"

#include <algorithm>
#include <limits>

namespace mangrove::plan {
namespace {

constexpr std::size_t kMostPeaks = 1 << 20;  // looked up once

std::vector<const Device*> one_of_each(const Problem& problem, const std::vector<std::vector<std::size_t>>& kinds) {
  std::vector<const Device*> devices;
  for (const auto& kind : kinds) devices.push_back(&problem.devices[kind.front()]);
  return devices;
}

std::vector<Seconds> least_seconds(const std::vector<const Device*>& devices) {
  std::vector<Seconds> least = devices.front()->seconds;
  for (const Device* device : devices)
    for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], device->seconds[i]);
  return least;
}

double most_work_a_second(const Device& device, const std::vector<Seconds>& least) {
  double most = 0;
  for (std::size_t i = 0; i < least.size(); ++i)
    if (least[i] > 0) most = std::max(most, least[i] / device.seconds[i]);
  return most > 0 ? most : 1;
}

BytesPerSecond slowest_rate(const Problem& problem) {
  BytesPerSecond slowest = std::numeric_limits<double>::infinity();
  for (const Device& device : problem.devices)
    if (device.rate > 0) slowest = std::min(slowest, device.rate);
  for (const auto& [pair, way] : problem.ways)
    if (way.rate > 0) slowest = std::min(slowest, way.rate);
  return slowest;
}

}  // namespace

StageCosts::StageCosts(const Problem& problem, const std::vector<std::vector<std::size_t>>& kinds)
    : problem_(problem),
      devices_(one_of_each(problem, kinds)),
      counts_(kinds),
      cuts_(problem.network, least_seconds(devices_)),
      slowest_rate_(slowest_rate(problem)) {
  const std::vector<Seconds> least = least_seconds(devices_);
  work_ = cuts_.sums(std::span<const Seconds>(least));
  std::vector<Bytes> parameters, kept, buffers;
  for (const Layer& layer : problem.network.layers) {
    parameters.push_back(layer.parameters);
    kept.push_back(layer.activations);
    buffers.push_back(layer.buffers);
  }
  parameters_ = cuts_.sums(std::span<const Bytes>(parameters));
  kept_ = cuts_.sums(std::span<const Bytes>(kept));
  buffers_ = cuts_.sums(std::span<const Bytes>(buffers));
  for (const Bytes bytes : parameters_)
    most_parameters_.push_back(most_parameters_.empty() ? bytes : std::max(most_parameters_.back(), bytes));
  for (const Device* device : devices_) {
    seconds_.push_back(cuts_.sums(std::span<const Seconds>(device->seconds)));
    most_work_.push_back(most_work_a_second(*device, least));
    is_limited_ = is_limited_ || device->memory > 0;
  }
  if (is_limited_ && cuts_.size() * cuts_.size() <= kMostPeaks) peaks_.assign(cuts_.size() * cuts_.size(), -1);
  best_of_later_.assign(cuts_.size(), true);
  for (std::size_t cut = 0; cut < cuts_.size(); ++cut)
    for (std::size_t later = cut + 1; later < cuts_.size() && best_of_later_[cut]; ++later)
      best_of_later_[cut] = cuts_.parts_network(cut) && costs_no_more(cut, later);
}

Bytes StageCosts::activations(std::size_t first, std::size_t last) const {
  if (problem_.training) return kept_[last] - kept_[first];
  if (!is_limited_) return 0;  // nobody asks
  const std::size_t at = first * cuts_.size() + last;
  if (!peaks_.empty() && peaks_[at] >= 0) return peaks_[at];
  Bytes peak = 0;
  for (const std::size_t i : cuts_.layers(first, last)) peak = std::max(peak, problem_.network.layers[i].activations);
  if (!peaks_.empty()) peaks_[at] = peak;
  return peak;
}

StageLoad StageCosts::load(std::size_t kind, std::size_t first, std::size_t last) const {
  StageLoad load;
  load.seconds = seconds_[kind][last] - seconds_[kind][first];
  load.parameters = parameters_[last] - parameters_[first];
  load.buffers = buffers_[last] - buffers_[first];
  load.received = cuts_.bytes(first);
  load.sent = cuts_.bytes(last);
  return load;
}

double StageCosts::speed(std::size_t kind, std::size_t first, std::size_t last, std::size_t replicas) const {
  StageLoad todo = load(kind, first, last);
  todo.replicas = replicas;
  return 1 / occupied_seconds(todo, device(kind), problem_);
}

Seconds StageCosts::busy(std::size_t kind, std::size_t first, std::size_t last) const {
  return busy_seconds(load(kind, first, last), device(kind), problem_.training);
}

bool StageCosts::fits(const Team& team, std::size_t first, std::size_t last, std::size_t devices_behind) const {
  if (!is_limited_) return true;
  for (const Team::Member& member : team.members) {
    const Device& one = device(member.kind);
    if (one.memory == 0) continue;
    StageLoad todo = load(member.kind, first, last);
    todo.activations = activations(first, last);
    todo.replicas = team.devices;
    todo.devices_from_here = team.devices + devices_behind;
    if (memory_use(todo, one, problem_) > one.memory) return false;
  }
  return true;
}

std::size_t StageCosts::first_that_may_fit(const Team& team, std::size_t last) const {
  if (!is_limited_) return 0;
  Bytes room = std::numeric_limits<Bytes>::max();
  for (const Team::Member& member : team.members)
    if (const Device& one = device(member.kind); one.memory > 0) room = std::min(room, one.memory - one.reserved);
  const auto end = most_parameters_.begin() + static_cast<std::ptrdiff_t>(last);
  return static_cast<std::size_t>(std::lower_bound(most_parameters_.begin(), end, parameters_[last] - room) -
                                  most_parameters_.begin());
}

Seconds StageCosts::period(const Team& team, std::size_t first, std::size_t last) const {
  double speed_of_all = 0;
  for (const Team::Member& member : team.members)
    speed_of_all += static_cast<double>(member.count) * speed(member.kind, first, last, team.devices);
  return 1 / speed_of_all;
}

/// Whether what crosses the cut keeps no link or way busy for longer than the period.
bool StageCosts::passes(std::size_t cut, Seconds period) const {
  return crossings(problem_.training) * static_cast<double>(cuts_.bytes(cut)) <= period * slowest_rate_;
}

/// Whether a stage that ends at cut a instead of at b, behind it, takes no more time and memory on any device, what
/// crosses the cut included.
bool StageCosts::costs_no_more(std::size_t a, std::size_t b) const {
  if (!cuts_.within(a, b)) return true;  // not behind it
  if (cuts_.bytes(a) <= cuts_.bytes(b)) return true;
  const Bytes more = cuts_.bytes(a) - cuts_.bytes(b);
  const double held = message_memory(0, more, problem_);
  if (is_limited_ && held > static_cast<double>(parameters_[b] - parameters_[a])) return false;
  for (std::size_t kind = 0; kind < devices_.size(); ++kind) {
    const BytesPerSecond handling = devices_[kind]->handling;
    if (handling == 0) continue;
    const Seconds saved = seconds_[kind][b] - seconds_[kind][a];
    if (crossings(problem_.training) * static_cast<double>(more) / handling > saved) return false;
  }
  return true;
}

bool StageCosts::as_good(std::size_t a, std::size_t b, Seconds period) const {
  if (a == b) return true;
  // where ways matter, the devices before b may reach the row only through one that would be left out at a
  if (!problem_.ways.empty()) return cuts_.within(a, b) && best_of_later(a, period);
  if (!cuts_.parts_network(a) || !cuts_.within(a, b) || !costs_no_more(a, b)) return false;
  return cuts_.bytes(a) <= cuts_.bytes(b) || passes(a, period);
}

bool StageCosts::best_of_later(std::size_t cut, Seconds period) const {
  return best_of_later_[cut] && (cuts_.bytes(cut) == 0 || passes(cut, period));
}

}  // namespace mangrove::plan
