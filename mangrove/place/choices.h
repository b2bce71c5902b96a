#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "mangrove/place/problem.h"
#include "mangrove/place/state.h"

namespace mangrove::place {

/// Devices that are worth a look for a part: with few candidates all of them, else those near what it talks to, and
/// some of the cheapest.
class Choices {
 public:
  explicit Choices(const Problem& problem);

  /// placement: where the others are; kNowhere where they are not yet.
  std::vector<std::uint32_t> of(std::size_t part, const Placement& placement);

 private:
  /// The devices of least delay from this one, the nearest first.
  const std::vector<std::uint32_t>& near(std::uint32_t device);
  /// Of the candidates that parts have in common, the cheapest.
  const std::vector<std::uint32_t>& cheap(std::size_t part);

  const Problem& problem_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> near_;
  std::unordered_map<const void*, std::vector<std::uint32_t>> cheap_;
};

/// Puts all parts that have a single candidate there.
void put_fixed(const Problem& problem, State& state);

/// The parts of each service behind those that they have inputs of, service by service.
std::vector<std::size_t> parts_in_order(const Problem& problem);

/// Why no placement can exist, where a part has no device at all; empty: each has one.
std::string why_impossible(const Problem& problem);

}  // namespace mangrove::place
