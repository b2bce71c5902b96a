#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mangrove/place/problem.h"

namespace mangrove::place {

/// When parts can be done on their devices at the earliest, and how long the rest of their service takes at least, if
/// all other parts are where it is best for this one. Devices and ways on which a service would be late are of no use:
/// no placement within its deadline has them. Only services with a deadline have windows. Times are the worst ones.
class TimeWindows {
 public:
  /// Takes devices on which a part would be late out of `candidates` (by part), which must then stay as they are.
  TimeWindows(const Problem& problem, std::vector<std::vector<std::uint32_t>>& candidates);

  /// Whether the flow can go from candidate i of its sender to candidate j of its receiver within the deadline.
  /// REQUIRES: its service has a deadline, and there is a way between these devices.
  bool allows(const PartFlow& flow, std::size_t i, std::size_t j) const;

 private:
  enum class Direction { from, to };  // whether a flow comes from its other end, or goes to it
  void find(std::size_t service, const std::vector<std::size_t>& parts);
  /// The least time of the way between this device and a candidate of `other`, and of what is at its far end.
  Seconds least(std::uint32_t device, std::size_t other, double bytes, Direction direction) const;
  void take_out_late(std::size_t part, Seconds deadline);

  const Problem& problem_;
  std::vector<std::vector<std::uint32_t>>& candidates_;
  std::vector<std::vector<Seconds>> done_, rest_;  // by part and candidate; rest: without the part itself
};

}  // namespace mangrove::place
