#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::train {

/// How the ranks of a group pass floats to each other. What a rank sends to another arrives in order.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual void send(net::Rank to, std::span<const float> values) = 0;
  /// The next floats from a rank, exactly `into.size()` of them. errors: ends the reduction.
  virtual Status recv(net::Rank from, std::span<float> into) = 0;
};

/// Along which links the ranks of a group add up vectors.
struct Topology {
  enum class Kind {
    ring,       // 2 (P-1) steps of n/P floats each: least bytes on every link
    tree,       // 2 log2 P steps of n floats: least steps, for small networks or slow answers
    two_level,  // trees inside groups, a ring of their heads: where links inside a group are faster
  };
  Kind kind = Kind::ring;
  std::int64_t group = 0;  // two_level: ranks of each group
};

/// "ring" (also ""), "tree", "two_level(4)". errors: invalid_argument (another text, a group below 2).
Result<Topology> parse_topology(const std::string& text);

/// Part `index`, counted modulo their number, of as many nearly equal, contiguous parts.
std::span<float> part_of(std::span<float> values, std::size_t index, std::size_t parts);

/// Every rank of the group calls this with as many values; afterwards each has the sums, the same bits on all of them,
/// whatever the timing. group: in the same order everywhere; me: the position of this rank in it.
/// errors: those of Peers::recv; values are undefined then.
/// source  Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009 (ring);
///         Thakur et al., Optimization of collective communication operations in MPICH, 2005 (binomial trees).
Status all_reduce(Peers& peers, std::span<const net::Rank> group, std::size_t me, const Topology& topology,
                  std::span<float> values);

}  // namespace mangrove::train
