#include "mangrove/place/choices.h"

#include <algorithm>
#include <iterator>

namespace mangrove::place {
namespace {

constexpr std::size_t kAll = 48;  // so many candidates are all looked at
constexpr std::size_t kNear = 24, kCheap = 12;

/// Keeps the `count` that come first by `key`, in that order.
template <class Key>
void keep_first(std::vector<std::uint32_t>& devices, std::size_t count, const Key& key) {
  const auto is_before = [&](std::uint32_t a, std::uint32_t b) {
    const auto key_a = key(a), key_b = key(b);
    return key_a < key_b || (key_a == key_b && a < b);
  };
  const std::size_t kept = std::min(count, devices.size());
  std::partial_sort(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(kept), devices.end(), is_before);
  devices.resize(kept);
}

}  // namespace

Choices::Choices(const Problem& problem) : problem_(problem) {}

const std::vector<std::uint32_t>& Choices::near(std::uint32_t device) {
  const auto [found, is_new] = near_.try_emplace(device);
  if (!is_new) return found->second;
  std::vector<std::uint32_t> devices;
  for (std::uint32_t d = 0; d < problem_.scenario().devices.size(); ++d)
    if (problem_.routes().is_connected(device, d)) devices.push_back(d);
  keep_first(devices, 4 * kNear, [&](std::uint32_t d) { return problem_.routes().time(device, d, 0); });
  return found->second = std::move(devices);
}

const std::vector<std::uint32_t>& Choices::cheap(std::size_t part) {
  const auto& candidates = problem_.parts()[part].candidates;
  const auto [found, is_new] = cheap_.try_emplace(candidates.get());
  if (!is_new) return found->second;
  const auto cost = [&](std::uint32_t d) {
    const Device& device = problem_.scenario().devices[d];
    return device.price + (device.idle_watts + device.watts) * 1e-6;
  };
  std::vector<std::uint32_t> cheap = *candidates, fast = *candidates;
  keep_first(cheap, kCheap, cost);
  keep_first(fast, kCheap, [&](std::uint32_t d) { return problem_.load(part, d); });
  cheap.insert(cheap.end(), fast.begin(), fast.end());
  return found->second = std::move(cheap);
}

std::vector<std::uint32_t> Choices::of(std::size_t part, const Placement& placement) {
  const std::vector<std::uint32_t>& candidates = *problem_.parts()[part].candidates;
  if (candidates.size() <= kAll) return candidates;
  std::vector<std::uint32_t> chosen = cheap(part);
  const auto add_near = [&](std::size_t other) {
    if (placement[other] == kNowhere) return;
    std::size_t added = 0;
    for (const std::uint32_t device : near(placement[other])) {
      if (!std::ranges::binary_search(candidates, device)) continue;
      chosen.push_back(device);
      if (++added == kNear) break;
    }
  };
  for (const std::size_t f : problem_.flows_of(part)) {
    const PartFlow& flow = problem_.flows()[f];
    add_near(flow.from == part ? flow.to : flow.from);
  }
  // what has its device is near where the data come from, even behind other tasks
  for (const std::size_t other : problem_.graph(problem_.parts()[part].service).parts[problem_.parts()[part].copy])
    if (problem_.is_shared(other)) add_near(other);
  std::ranges::sort(chosen);
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

}  // namespace mangrove::place
