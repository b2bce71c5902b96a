#include "mangrove/train/data_parallel/neighbours.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "mangrove/base/call_syntax.h"
#include "mangrove/base/random.h"

namespace mangrove::train {
namespace {

constexpr std::uint64_t kPairs = 0x9a125;  // stream of random numbers

std::optional<std::vector<std::pair<std::size_t, std::size_t>>> edges_in(std::string_view text) {
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  const char* at = text.data();
  const char* last = at + text.size();
  while (true) {
    std::pair<std::size_t, std::size_t> edge;
    const auto [dash, first_code] = std::from_chars(at, last, edge.first);
    if (first_code != std::errc() || dash == last || *dash != '-') return std::nullopt;
    const auto [end, second_code] = std::from_chars(dash + 1, last, edge.second);
    if (second_code != std::errc() || edge.first == edge.second) return std::nullopt;
    edges.push_back(edge);
    if (end == last) return edges;
    if (*end != ',') return std::nullopt;
    at = end + 1;
  }
}

void link(Adjacency& adjacency, net::Rank a, net::Rank b) {
  if (a == b) return;
  adjacency[a].insert(b);
  adjacency[b].insert(a);
}

/// Its neighbours become a chain.
void take_out(Adjacency& adjacency, net::Rank rank) {
  const std::set<net::Rank> orphans = std::exchange(adjacency[rank], {});
  adjacency.erase(rank);
  std::optional<net::Rank> before;
  for (const net::Rank orphan : orphans) {
    adjacency[orphan].erase(rank);
    if (before) link(adjacency, *before, orphan);
    before = orphan;
  }
}

}  // namespace

Result<Neighbours> parse_neighbours(const std::string& text) {
  if (text.empty() || text == "ring") return Neighbours{};
  if (text == "random") return Neighbours{.kind = Neighbours::Kind::random};
  if (const auto inside = argument_of(text, "graph")) {
    if (auto edges = edges_in(*inside)) return Neighbours{.kind = Neighbours::Kind::graph, .edges = *std::move(edges)};
  }
  return make_error(
      Code::invalid_argument,
      "neighbours: must be ring, random or graph(A-B,B-C,...) with the numbers of two workers, from 0 on, "
      "for each link, got '" +
          text + "'");
}

Status check_workers(const Neighbours& neighbours, const std::string& text, std::size_t workers) {
  if (neighbours.kind != Neighbours::Kind::graph) return {};
  std::vector<std::size_t> piece(workers);  // that each worker belongs to
  for (std::size_t i = 0; i < workers; ++i) piece[i] = i;
  for (const auto& [a, b] : neighbours.edges) {
    if (std::max(a, b) >= workers) {
      return make_error(Code::invalid_argument, "neighbours: " + text + " links worker " +
                                                    std::to_string(std::max(a, b)) + ", but there are " +
                                                    std::to_string(workers) + " nodes, numbered from 0");
    }
    const std::size_t from = piece[a], to = piece[b];
    std::replace(piece.begin(), piece.end(), from, to);
  }
  const auto apart = std::find_if(piece.begin(), piece.end(), [&](std::size_t p) { return p != piece.front(); });
  if (apart == piece.end()) return {};
  return make_error(Code::invalid_argument, "neighbours: " + text + " does not link worker " +
                                                std::to_string(apart - piece.begin()) + " to worker 0");
}

Adjacency adjacency(const Neighbours& neighbours, std::span<const net::Rank> ranks, std::size_t workers,
                    std::uint64_t seed, std::int64_t round) {
  Adjacency result;
  if (neighbours.kind == Neighbours::Kind::graph) {
    for (const auto& [a, b] : neighbours.edges)
      link(result, static_cast<net::Rank>(a) + 1, static_cast<net::Rank>(b) + 1);
    for (net::Rank rank = 1; rank <= static_cast<net::Rank>(workers); ++rank) {
      if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) take_out(result, rank);
    }
    // who joined the running job has no place in the graph
    for (const net::Rank rank : ranks) {
      if (!result.contains(rank)) link(result, rank, ranks.front());
    }
  } else if (neighbours.kind == Neighbours::Kind::ring) {
    for (std::size_t i = 0; i < ranks.size(); ++i) link(result, ranks[i], ranks[(i + 1) % ranks.size()]);
  } else {
    net::RankSet order(ranks.begin(), ranks.end());
    Random random = Random(seed).fork(kPairs).fork(static_cast<std::uint64_t>(round));
    random.shuffle(std::span(order));
    for (std::size_t i = 0; i + 1 < order.size(); i += 2) link(result, order[i], order[i + 1]);
  }
  return result;
}

float metropolis_weight(const Adjacency& adjacency, net::Rank a, net::Rank b) {
  return 1.0f / (1.0f + static_cast<float>(std::max(adjacency.at(a).size(), adjacency.at(b).size())));
}

}  // namespace mangrove::train
