#pragma once

#include <array>
#include <cstddef>

#include "mangrove/place/objective.h"
#include "mangrove/place/problem.h"

namespace mangrove::place {

/// What domains and the market trade, in the order in which messages have it: there is a price of each good, and a bid
/// says how much of each it comes to. Parts and flows have the same numbers in the problems of all domains, since
/// services are known to all of them.
class Goods {
 public:
  /// Measures that add up over domains.
  static constexpr std::array<double Measures::*, 4> kMeasures{&Measures::cost, &Measures::energy, &Measures::devices,
                                                               &Measures::moves};

  explicit Goods(const Problem& problem)
      : parts_(problem.parts().size()), flows_(problem.flows().size()), licences_(problem.scenario().licences.size()) {}

  /// 1 if the domain has the part.
  std::size_t taken(std::size_t part) const { return part; }
  /// Seconds that an execution of the part takes there.
  std::size_t seconds(std::size_t part) const { return parts_ + part; }
  /// Seconds of an item between devices of the domain, or between a device and the gate; as usual, and at worst.
  std::size_t way(std::size_t flow) const { return 2 * parts_ + flow; }
  std::size_t worst_way(std::size_t flow) const { return 2 * parts_ + flows_ + flow; }
  /// How many of its devices need the licence.
  std::size_t licensed(std::size_t licence) const { return 2 * parts_ + 2 * flows_ + licence; }
  /// What it comes to, by kMeasures: its devices, and what its own links carry.
  std::size_t measure(std::size_t number) const { return 2 * parts_ + 2 * flows_ + licences_ + number; }
  std::size_t count() const { return measure(kMeasures.size()); }

 private:
  std::size_t parts_, flows_, licences_;
};

}  // namespace mangrove::place
