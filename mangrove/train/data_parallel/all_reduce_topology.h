#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::train {

/// Along which links the ranks of a group add up vectors.
struct Topology {
  enum class Kind {
    ring,       // 2 (P-1) steps of n/P floats each: least bytes on every link
    tree,       // 2 log2 P steps of n floats: least steps, for small networks or slow answers
    two_level,  // trees inside groups, a ring of their heads: where links inside a group are faster
    servers,    // 2 steps: each of some ranks is the server of a part, adds it up for all and sends it to all
  };
  Kind kind = Kind::ring;
  std::int64_t number = 0;  // two_level: ranks of each group; servers: how many
};

/// "ring" (also ""), "tree", "two_level(4)", "servers(3)". errors: invalid_argument (another text, a group below 2, no
/// server).
Result<Topology> parse_topology(const std::string& text);

/// Consecutive elements of a vector.
struct Range {
  std::size_t first = 0, count = 0;
};

/// Range `index`, counted modulo their number, of as many nearly equal ones that n elements are cut into.
Range part_of(std::size_t n, std::size_t index, std::size_t parts);

/// One thing that a rank does in a reduction.
struct Transfer {
  enum class Kind {
    send,   // the floats of the range to the peer
    add,    // floats that the peer has sent to those of the range
    share,  // the range to the peer, which is finished: its sums will not change any more
    take,   // a range that the peer has shared in place of one's own
  };
  Kind kind;
  net::Rank peer;
  Range range;
};

/// What group[me] does, in this order, for a vector of n floats: when every rank of the group has, each has the sums,
/// the same bits on all of them, whatever the timing. What a rank sends to another must arrive in order. Sending needs
/// no answer, so a rank only ever stops where it waits for floats.
/// source  Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009 (ring);
///         Thakur et al., Optimization of collective communication operations in MPICH, 2005 (binomial trees);
///         Li et al., Scaling distributed machine learning with the parameter server, 2014 (servers of parts);
///         Hoefler et al., Implementation and performance analysis of non-blocking collective operations for MPI, 2007
///         (schedules).
std::vector<Transfer> plan_all_reduce(std::span<const net::Rank> group, std::size_t me, const Topology& topology,
                                      std::size_t n);

/// Consecutive parameters whose gradients are summed together.
struct Bucket {
  std::size_t first_parameter = 0, parameters = 0;
  Range elements;  // of the flat vector of all parameters
};

/// Parameters of these sizes (elements) in buckets of at least `least` elements, filled from the last parameter on:
/// gradients come in about that order. The first parameters may be fewer.
std::vector<Bucket> plan_buckets(std::span<const std::size_t> sizes, std::size_t least);

}  // namespace mangrove::train
