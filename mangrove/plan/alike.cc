#include "mangrove/plan/alike.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mangrove/plan/kinds.h"
#include "mangrove/plan/planner.h"

namespace mangrove::plan {
namespace {

using Groups = std::vector<std::vector<std::size_t>>;

/// Of two limits, where 0 is none.
template <class T>
T lower_limit(T a, T b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

Seconds seconds_of(const Device& device) {
  return std::accumulate(device.seconds.begin(), device.seconds.end(), Seconds{0});
}

/// A device that is not limited has more than any other.
double room_of(const Device& device) {
  return static_cast<double>(device.memory > 0 ? device.memory : 2 * kMostBytes);
}

/// slower: of the two.
bool are_alike(const Device& faster, const Device& slower, double tolerance) {
  Seconds apart = 0;
  for (std::size_t layer = 0; layer < slower.seconds.size(); ++layer)
    apart += std::abs(faster.seconds[layer] - slower.seconds[layer]);
  const auto [least, most] = std::minmax({room_of(faster), room_of(slower)});
  return apart <= tolerance * seconds_of(slower) && most <= (1 + tolerance) * least;
}

/// Positions of devices that are like the fastest of their group.
Groups groups_of(const std::vector<Device>& devices, double tolerance) {
  std::vector<std::size_t> order(devices.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return seconds_of(devices[i]); });
  Groups groups;
  for (const std::size_t i : order) {
    const auto found = std::ranges::find_if(
        groups, [&](const auto& group) { return are_alike(devices[group.front()], devices[i], tolerance); });
    found != groups.end() ? found->push_back(i) : groups.push_back({i});
  }
  return groups;
}

bool are_too_many(const Groups& kinds) {
  return kinds.size() > 1 && (kinds.size() > kMostKinds || Counts::exceeds(kinds, kMostStates));
}

}  // namespace

void make_equal(std::span<Device> devices) {
  Device mean = devices.front();
  for (const Device& device : devices.subspan(1)) {
    for (std::size_t layer = 0; layer < mean.seconds.size(); ++layer) mean.seconds[layer] += device.seconds[layer];
    mean.memory = lower_limit(mean.memory, device.memory);
    mean.reserved = std::max(mean.reserved, device.reserved);
    mean.rate = lower_limit(mean.rate, device.rate);
    mean.delay = std::max(mean.delay, device.delay);
    mean.handling = lower_limit(mean.handling, device.handling);
    mean.watts = std::max(mean.watts, device.watts);
    mean.overhead = std::max(mean.overhead, device.overhead);
  }
  for (Seconds& seconds : mean.seconds) seconds /= static_cast<double>(devices.size());
  for (Device& device : devices) {
    mean.name = device.name;
    device = mean;
  }
}

void make_alike(std::vector<Device>& devices, double tolerance) {
  Groups groups = groups_of(devices, tolerance);
  for (; are_too_many(groups); groups = groups_of(devices, tolerance)) tolerance *= 2;
  for (const auto& group : groups) {
    std::vector<Device> like;
    for (const std::size_t i : group) like.push_back(devices[i]);
    make_equal(like);
    for (std::size_t i = 0; i < group.size(); ++i) devices[group[i]] = std::move(like[i]);
  }
}

}  // namespace mangrove::plan
