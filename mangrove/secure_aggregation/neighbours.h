#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/base/result.h"

namespace mangrove::secure {

/// The number of a client, by which others know it.
using ClientId = std::uint32_t;

constexpr std::size_t kFewestClients = 3;  // in a sum; in one of two, each could compute the other's vector
constexpr std::size_t kMostClients = 65536;

/// How many neighbours each client shares masks and secrets with, and how many of the holders of a secret (the client
/// itself, and its neighbours) make it up again.
struct Connections {
  std::size_t degree;
  std::size_t threshold;
};

/// How many of its envelopes a dealer shows to a server that says that their holders accuse it. A server that cheats
/// learns so many shares; one that does not has no sum anyway where more accuse.
constexpr std::size_t most_shown(std::size_t holders, std::size_t threshold) {
  return holders > threshold ? holders - threshold : 1;
}

/// For this number of clients, of which a third (rounded down) may drop out once the masks are agreed on; of three,
/// none.
///
/// Up to about a hundred clients, all are neighbours, and two thirds of them (rounded up, and at least three) make up a
/// secret: then a sum can always be made when at most a third has dropped out, and no coalition below two thirds sees
/// more than the sum.
/// With more clients each has the fewest neighbours, drawn at random, for which
///   - a round fails with a probability below 2^-20 where a third drops out at random;
///   - with a probability below 2^-40, a fifth of the clients, drawn at random and helped by the coordinator, can make
///     up a secret of another one, or separate some of the others from the rest by those that they are and those that
///     drop out.
///
/// clients   kFewestClients to kMostClients. errors: invalid_argument (names the limit).
/// source    Bell, Bonawitz, Gascon, Lepoint & Raykova, Secure single-server aggregation with (poly)logarithmic
///           overhead, CCS 2020: the graph, and lemmas 3.7 to 3.10 with exact tails in place of their bounds.
Result<Connections> choose_connections(std::size_t clients);

/// The neighbours of each client: as many as `degree` says, in ascending order. degree: even, or one less than there
/// are clients. Clients stand in a circle in random order; each has the next ones on both sides as neighbours (a Harary
/// graph, which stays connected when any degree - 1 clients are taken out).
std::map<ClientId, std::vector<ClientId>> draw_neighbours(std::span<const ClientId> clients, std::size_t degree,
                                                          Random& random);

}  // namespace mangrove::secure
