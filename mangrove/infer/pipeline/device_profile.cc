#include "mangrove/infer/pipeline/device_profile.h"

#include <algorithm>

namespace mangrove::infer {

void DeviceProfile::scale(double factor) {
  for (Seconds& seconds : operator_seconds) seconds *= factor;
  read_seconds *= factor;
  byte_seconds *= factor;
  message_seconds *= factor;
}

DeviceProfile profile_of(const std::vector<DeviceProfile>& measured, net::Rank rank) {
  const auto found = std::ranges::find(measured, rank, &DeviceProfile::rank);
  if (found != measured.end()) return *found;
  DeviceProfile profile = measured.front();
  profile.rank = rank;
  profile.name = "rank " + std::to_string(rank);
  return profile;
}

DeviceProfile& profile_among(std::vector<DeviceProfile>& measured, net::Rank rank) {
  const auto found = std::ranges::find(measured, rank, &DeviceProfile::rank);
  return found != measured.end() ? *found : measured.emplace_back(profile_of(measured, rank));
}

void calibrate(std::vector<DeviceProfile>& devices, net::Rank rank, Seconds seconds) {
  constexpr double kMost = 2;
  const auto known = std::ranges::find(devices, rank, &DeviceProfile::rank);
  if (known == devices.end() || known->single_seconds() <= 0 || seconds <= 0) return;
  const double factor = std::clamp(seconds / known->single_seconds(), 1 / kMost, kMost);
  for (DeviceProfile& device : devices) {
    device.read_seconds *= factor;
    for (Seconds& one : device.operator_seconds) one *= factor;
  }
}

net::RankSet fastest_first(std::vector<DeviceProfile> devices) {
  std::ranges::stable_sort(devices, {}, &DeviceProfile::single_seconds);
  net::RankSet ranks;
  for (const DeviceProfile& device : devices) ranks.push_back(device.rank);
  return ranks;
}

}  // namespace mangrove::infer
