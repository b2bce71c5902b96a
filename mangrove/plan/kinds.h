#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mangrove/plan/problem.h"

namespace mangrove::plan {

/// Groups of devices that can be exchanged for each other. They are equal in everything but their names, and have equal
/// ways to all other devices. The groups are in the order of their first devices.
std::vector<std::vector<std::size_t>> interchangeable(const Problem& problem);

/// How many devices of each kind are in use, encoded as one number (a state). State 0: none is in use.
class Counts {
 public:
  explicit Counts(const std::vector<std::vector<std::size_t>>& kinds);

  std::size_t states() const { return states_; }
  std::size_t kinds() const { return sizes_.size(); }
  std::size_t size(std::size_t kind) const { return sizes_[kind]; }
  std::size_t of(std::size_t state, std::size_t kind) const { return counts_[state * kinds() + kind]; }
  std::size_t total(std::size_t state) const;
  /// The difference that one more device of this kind makes to the number.
  std::size_t stride(std::size_t kind) const { return strides_[kind]; }

  /// Whether there are more states than `most`. Then a Counts cannot be made.
  static bool exceeds(const std::vector<std::vector<std::size_t>>& kinds, std::size_t most);

 private:
  std::vector<std::size_t> sizes_, strides_;
  std::size_t states_ = 1;
  std::vector<std::uint16_t> counts_;  // of each state and kind
};

}  // namespace mangrove::plan
