#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::train {

/// The links along which the ranks of a group add up vectors. plan_all_reduce() gives the steps and bytes of each kind.
struct Topology {
  enum class Kind {
    ring,       // 2 (P-1) steps with n/P floats each: the fewest bytes on every link
    tree,       // 2 log2 P steps with n floats each: few steps, for small networks or links with a long delay
    two_level,  // a tree in each group, a ring of the groups' first ranks: for faster links inside a group
    servers,    // 2 steps: some ranks serve a part each; a server adds up its part and sends the sum to all ranks
  };
  Kind kind = Kind::ring;
  std::int64_t number = 0;  // two_level: ranks in a group; servers: the number of servers
};

/// Reads "ring" (also ""), "tree", "two_level(4)" or "servers(3)". errors: invalid_argument (another text, a group of
/// fewer than 2 ranks, no server).
Result<Topology> parse_topology(const std::string& text);

/// Consecutive elements of a vector.
struct Range {
  std::size_t first = 0, count = 0;
};

/// Cuts n elements into `parts` ranges of nearly equal size and returns range number `index` modulo `parts`.
Range part_of(std::size_t n, std::size_t index, std::size_t parts);

/// One action of a rank in a reduction.
struct Transfer {
  enum class Kind {
    send,   // sends the floats of the range to the peer
    add,    // receives floats from the peer and adds them to the range
    share,  // sends a finished range to the peer: its sums will not change any more
    take,   // receives a finished range from the peer and overwrites its own
  };
  Kind kind;
  net::Rank peer;
  Range range;
};

/// The actions of group[me], in order, for a vector of n floats. When every rank of the group has done its own actions,
/// each rank has the sums.
///
/// cost     A rank sends, in floats, where the group has P ranks:
///           ring       2n (P-1)/P, in 2 (P-1) messages
///           tree       n to the rank above it, n to each rank below it (first rank: n log2 P), 2 log2 P rounds
///           two_level  in its group as in the tree; the first ranks of the G groups also 2n (G-1)/G as in the ring
///           servers    n to the servers; each of the S servers also n/S to every other rank, 2 rounds
///          With a codec, a message has as many bytes as the codec makes of its floats.
/// right    Each range is added up in one fixed order, by one rank at a time, and then copied. So all ranks end with
///          the same bits, whatever the timing. Sending needs no answer, so a rank stops only where it waits for
///          floats.
/// order    Messages from one rank to another must arrive in the order in which they were sent.
/// source   Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009 (ring);
///          Thakur et al., Optimization of collective communication operations in MPICH, 2005 (binomial trees); Li et
///          al., Scaling distributed machine learning with the parameter server, 2014 (servers of parts); Hoefler et
///          al., Implementation and performance analysis of non-blocking collective operations for MPI, 2007
///          (schedules).
std::vector<Transfer> plan_all_reduce(std::span<const net::Rank> group, std::size_t me, const Topology& topology,
                                      std::size_t n);

/// Consecutive parameters whose gradients are summed together.
struct Bucket {
  std::size_t first_parameter = 0, parameters = 0;
  Range elements;  // of the flat vector of all parameters
};

/// Puts parameters into buckets of at least `least` elements each. sizes: the elements of each parameter. Buckets are
/// filled from the last parameter to the first, because the backward pass computes gradients in about that order. The
/// bucket of the first parameters may be smaller. source: Li et al., PyTorch distributed, VLDB 2020.
std::vector<Bucket> plan_buckets(std::span<const std::size_t> sizes, std::size_t least);

}  // namespace mangrove::train
