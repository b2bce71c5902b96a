#include "mangrove/train/reduction.h"

#include <charconv>
#include <vector>

#include "mangrove/data/loader.h"

namespace mangrove::train {
namespace {

using Group = std::span<const net::Rank>;

void add(std::span<float> to, std::span<const float> values) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += values[i];
}

/// Each part goes around once and is added to, then around once more as it is.
Status ring(Peers& peers, Group group, std::size_t me, std::span<float> values) {
  const std::size_t size = group.size();
  const net::Rank next = group[(me + 1) % size], before = group[(me + size - 1) % size];
  std::vector<float> received;
  for (std::size_t step = 0; step + 1 < size; ++step) {
    peers.send(next, part_of(values, me + size - step, size));
    const std::span<float> sum = part_of(values, me + 2 * size - step - 1, size);
    received.resize(sum.size());
    MG_RETURN_IF_ERROR(peers.recv(before, received));
    add(sum, received);
  }
  for (std::size_t step = 0; step + 1 < size; ++step) {
    peers.send(next, part_of(values, me + 1 + size - step, size));
    MG_RETURN_IF_ERROR(peers.recv(before, part_of(values, me + size - step, size)));
  }
  return {};
}

/// Sums flow to the first rank of the group along a binomial tree.
Status to_head(Peers& peers, Group group, std::size_t me, std::span<float> values) {
  std::vector<float> received;
  for (std::size_t distance = 1; distance < group.size(); distance *= 2) {
    if (me % (2 * distance) != 0) {
      peers.send(group[me - distance], values);
      return {};
    }
    if (me + distance >= group.size()) continue;
    received.resize(values.size());
    MG_RETURN_IF_ERROR(peers.recv(group[me + distance], received));
    add(values, received);
  }
  return {};
}

/// The first rank's values flow back along the same tree.
Status from_head(Peers& peers, Group group, std::size_t me, std::span<float> values) {
  std::size_t distance = 1;  // to the rank that this one gets the values from; of the head: beyond all others
  while (distance < group.size() && me % (2 * distance) == 0) distance *= 2;
  if (me != 0) MG_RETURN_IF_ERROR(peers.recv(group[me - distance], values));
  for (distance /= 2; distance >= 1; distance /= 2) {
    if (me + distance < group.size()) peers.send(group[me + distance], values);
  }
  return {};
}

Status tree(Peers& peers, Group group, std::size_t me, std::span<float> values) {
  MG_RETURN_IF_ERROR(to_head(peers, group, me, values));
  return from_head(peers, group, me, values);
}

Status two_level(Peers& peers, Group group, std::size_t me, std::size_t size, std::span<float> values) {
  const std::size_t first = me / size * size;
  const Group mine = group.subspan(first, std::min(size, group.size() - first));
  MG_RETURN_IF_ERROR(to_head(peers, mine, me - first, values));
  if (me == first) {
    std::vector<net::Rank> heads;
    for (std::size_t head = 0; head < group.size(); head += size) heads.push_back(group[head]);
    MG_RETURN_IF_ERROR(ring(peers, heads, me / size, values));
  }
  return from_head(peers, mine, me - first, values);
}

}  // namespace

Result<Topology> parse_topology(const std::string& text) {
  if (text.empty() || text == "ring") return Topology{};
  if (text == "tree") return Topology{Topology::Kind::tree, 0};
  const std::string prefix = "two_level(";
  if (text.starts_with(prefix) && text.ends_with(")")) {
    std::int64_t group = 0;
    const char* last = text.data() + text.size() - 1;
    const auto [end, code] = std::from_chars(text.data() + prefix.size(), last, group);
    if (code == std::errc() && end == last && group >= 2) return Topology{Topology::Kind::two_level, group};
  }
  return make_error(
      Code::invalid_argument,
      "topology: must be ring, tree or two_level(G) with a number from 2 on in place of G, got '" + text + "'");
}

std::span<float> part_of(std::span<float> values, std::size_t index, std::size_t parts) {
  const auto [first, last] = data::shard(static_cast<std::uint32_t>(values.size()),
                                         static_cast<std::uint32_t>(index % parts), static_cast<std::uint32_t>(parts));
  return values.subspan(first, last - first);
}

Status all_reduce(Peers& peers, Group group, std::size_t me, const Topology& topology, std::span<float> values) {
  if (group.size() < 2) return {};
  if (topology.kind == Topology::Kind::tree) return tree(peers, group, me, values);
  if (topology.kind == Topology::Kind::two_level)
    return two_level(peers, group, me, static_cast<std::size_t>(topology.group), values);
  return ring(peers, group, me, values);
}

}  // namespace mangrove::train
