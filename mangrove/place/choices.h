#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "mangrove/place/problem.h"

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
  /// The cheapest of this part's candidates, and the fastest. Parts with the same candidates share them.
  const std::vector<std::uint32_t>& cheap(std::size_t part);

  const Problem& problem_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> near_;
  std::unordered_map<const void*, std::vector<std::uint32_t>> cheap_;
};

}  // namespace mangrove::place
