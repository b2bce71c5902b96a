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

/// The neighbours with which the workers of gossip average.
struct Neighbours {
  enum class Kind {
    ring,    // the ranks before and after the worker
    random,  // one other worker, drawn anew for every round
    graph,   // the edges below
  };
  Kind kind = Kind::ring;
  std::vector<std::pair<std::size_t, std::size_t>> edges = {};  // graph: pairs of workers, counted from 0
};

/// Reads "ring" (also ""), "random" or "graph(0-1,1-2)". errors: invalid_argument (another text, an edge from a worker
/// to itself).
Result<Neighbours> parse_neighbours(const std::string& text);
/// text: the text that the neighbours were parsed from. errors: invalid_argument (a graph names a worker that does not
/// exist, or does not connect all workers).
Status check_workers(const Neighbours& neighbours, const std::string& text, std::size_t workers);

/// The neighbours of each rank. Edges go both ways.
using Adjacency = std::map<net::Rank, std::set<net::Rank>>;

/// The neighbours in a round, among the ranks that are there. workers: their number at the start; these are the ranks 1
/// to `workers`. The result depends on the arguments only. A ring or a given graph stays connected: in a graph, the
/// neighbours of a missing rank are linked to each other, and a rank that joined later is linked to the first rank.
/// `random` gives pairs, other ones in each round.
Adjacency adjacency(const Neighbours& neighbours, std::span<const net::Rank> ranks, std::size_t workers,
                    std::uint64_t seed, std::int64_t round);

/// The weight of a neighbour's values in a rank's average: 1 / (1 + the larger number of neighbours of the two). These
/// weights keep the mean over all ranks as it is, and repeated averages bring all ranks to that mean.
/// source: Xiao & Boyd, Fast linear iterations for distributed averaging, 2004 (Metropolis weights).
float metropolis_weight(const Adjacency& adjacency, net::Rank a, net::Rank b);

}  // namespace mangrove::train
