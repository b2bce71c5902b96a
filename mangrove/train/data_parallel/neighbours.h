#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::train {

/// With whom the workers of gossip average.
struct Neighbours {
  enum class Kind {
    ring,    // the one before and the one behind
    random,  // one other, drawn anew for every round
    graph,   // as given
  };
  Kind kind = Kind::ring;
  std::vector<std::pair<std::size_t, std::size_t>> edges = {};  // graph: of workers, from 0 on
};

/// "ring" (also ""), "random", "graph(0-1,1-2)". errors: invalid_argument (another text, an edge from a worker to
/// itself).
Result<Neighbours> parse_neighbours(const std::string& text);
/// errors: invalid_argument: a graph with an edge to a worker that there is not, or that does not connect all of them;
/// text: what it was parsed from.
Status check_workers(const Neighbours& neighbours, const std::string& text, std::size_t workers);

/// Neighbours of each rank, both ways.
using Adjacency = std::map<net::Rank, std::set<net::Rank>>;

/// Of the ranks that are there, of `workers` from 1 on, in a round; depends on the arguments only. In a given graph,
/// the neighbours of a rank that is not there are linked to each other, and one that the graph does not name, since it
/// joined the running job, to the first rank; so it stays in one piece.
Adjacency adjacency(const Neighbours& neighbours, std::span<const net::Rank> ranks, std::size_t workers,
                    std::uint64_t seed, std::int64_t round);

/// The weight of a neighbour's values in a rank's average: 1 / (1 + the larger number of neighbours of the two). With
/// them the mean over all ranks stays as it is, and they come to agree.
/// source: Xiao & Boyd, Fast linear iterations for distributed averaging, 2004 (Metropolis weights)
float metropolis_weight(const Adjacency& adjacency, net::Rank a, net::Rank b);

}  // namespace mangrove::train
