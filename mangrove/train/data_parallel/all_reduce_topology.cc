#include "mangrove/train/data_parallel/all_reduce_topology.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "mangrove/base/call_syntax.h"
#include "mangrove/data/loader.h"

namespace mangrove::train {
namespace {

using Group = std::span<const net::Rank>;

constexpr std::int64_t kMostServers = 1'000'000;

/// Writes down what one rank of a group does.
class Plan {
 public:
  Plan(Group group, std::size_t me, std::vector<Transfer>& transfers) : group_(group), me_(me), transfers_(transfers) {}

  /// Ring. The vector is cut into P parts. In each of the first P - 1 steps (reduce-scatter) every rank sends one part
  /// to the next rank, which adds it to its own: part p begins at rank p and has everyone's values when it reaches rank
  /// p - 1. In each of the other P - 1 steps (all-gather) every rank passes a finished part on, and the next rank takes
  /// it in place of its own. A rank sends 2 (P-1) messages of n/P floats: about 2n floats whatever P is, which is the
  /// least that any algorithm needs (Patarasuk and Yuan, 2009). Each part is added up in one order, by one rank at a
  /// time, and copied afterwards; so all ranks end with the same bits.
  void ring(std::size_t n) {
    const std::size_t size = group_.size(), next = (me_ + 1) % size, before = (me_ + size - 1) % size;
    for (std::size_t step = 0; step + 1 < size; ++step) {
      send(next, part_of(n, me_ + size - step, size));
      add(before, part_of(n, me_ + 2 * size - step - 1, size));
    }
    for (std::size_t step = 0; step + 1 < size; ++step) {
      share(next, part_of(n, me_ + 1 + size - step, size));
      take(before, part_of(n, me_ + size - step, size));
    }
  }

  /// Binomial tree. In round k = 0, 1, ... each rank whose number is an odd multiple of 2^k sends its sum to the rank
  /// 2^k before it, and is done; after log2 P rounds the first rank has everything. from_head() goes the same way back.
  /// There are 2 log2 P steps in place of the ring's 2 (P-1), but each of them takes all n floats: this wins where the
  /// time for an answer counts more than the bytes, as for small networks (Thakur et al., 2005). One rank makes the sum
  /// and the others copy it; so all have the same bits.
  void to_head(std::size_t n) {
    for (std::size_t distance = 1; distance < group_.size(); distance *= 2) {
      if (me_ % (2 * distance) != 0) return send(me_ - distance, {0, n});
      if (me_ + distance < group_.size()) add(me_ + distance, {0, n});
    }
  }

  /// The first rank's values of this range flow back along the same tree.
  void from_head(Range range) {
    std::size_t distance = 1;  // to the rank that this one gets the values from; of the head: beyond all others
    while (distance < group_.size() && me_ % (2 * distance) == 0) distance *= 2;
    if (me_ != 0) take(me_ - distance, range);
    for (distance /= 2; distance >= 1; distance /= 2) {
      if (me_ + distance < group_.size()) share(me_ + distance, range);
    }
  }

  /// Servers. The vector is cut into S parts, and each of the first S ranks is the server of one (where there are fewer
  /// ranks, a rank serves several). Everyone sends each part to its server, which adds up P vectors of n/S floats and
  /// sends the sum to all. These are two steps only; a server receives and sends (P-1) n/S floats, another rank sends
  /// and receives n. With S = P every link carries as much as on the ring, in two steps of P - 1 small messages
  /// (Li et al., 2014).
  void servers(std::size_t n, std::size_t servers) {
    const std::size_t size = group_.size();
    for (std::size_t part = 0; part < servers; ++part) {
      if (part % size != me_) send(part % size, part_of(n, part, servers));
    }
    for (std::size_t part = me_; part < servers; part += size) {
      for (std::size_t other = 1; other < size; ++other) add((me_ + other) % size, part_of(n, part, servers));
      for (std::size_t other = 1; other < size; ++other) share((me_ + other) % size, part_of(n, part, servers));
    }
    for (std::size_t part = 0; part < servers; ++part) {
      if (part % size != me_) take(part % size, part_of(n, part, servers));
    }
  }

 private:
  void send(std::size_t to, Range range) { append(Transfer::Kind::send, to, range); }
  void share(std::size_t to, Range range) { append(Transfer::Kind::share, to, range); }
  void add(std::size_t from, Range range) { append(Transfer::Kind::add, from, range); }
  void take(std::size_t from, Range range) { append(Transfer::Kind::take, from, range); }
  void append(Transfer::Kind kind, std::size_t peer, Range range) { transfers_.push_back({kind, group_[peer], range}); }

  const Group group_;
  const std::size_t me_;
  std::vector<Transfer>& transfers_;
};

/// Two levels. Ranks are in groups of `size`. A tree adds up each group at its head, a ring adds up the heads, and the
/// tree of each group gives the sum back. Only heads use the links between groups, 2n floats each; links inside a group
/// carry n floats each way. This pays where links inside a group are faster.
void two_level(Group group, std::size_t me, std::size_t size, std::size_t n, std::vector<Transfer>& transfers) {
  const std::size_t first = me / size * size;
  Plan mine(group.subspan(first, std::min(size, group.size() - first)), me - first, transfers);
  mine.to_head(n);
  if (me == first) {
    std::vector<net::Rank> heads;
    for (std::size_t head = 0; head < group.size(); head += size) heads.push_back(group[head]);
    Plan(heads, me / size, transfers).ring(n);
  }
  // as the heads got them: what is finished is passed on as it came
  const std::size_t parts = (group.size() + size - 1) / size;
  for (std::size_t part = 0; part < parts; ++part) mine.from_head(part_of(n, part, parts));
}

}  // namespace

Result<Topology> parse_topology(const std::string& text) {
  if (text.empty() || text == "ring") return Topology{};
  if (text == "tree") return Topology{Topology::Kind::tree, 0};
  if (const auto group = number_argument_of(text, "two_level"); group && *group >= 2 && *group <= 1'000'000)
    return Topology{Topology::Kind::two_level, *group};
  if (const auto servers = number_argument_of(text, "servers"); servers && *servers >= 1 && *servers <= kMostServers)
    return Topology{Topology::Kind::servers, *servers};
  return make_error(Code::invalid_argument,
                    "topology: must be ring, tree, two_level(G) with a number from 2 on in place of G, or servers(S) "
                    "with one from 1 on in place of S, got '" +
                        text + "'");
}

Range part_of(std::size_t n, std::size_t index, std::size_t parts) {
  const auto [first, last] = data::shard(static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(index % parts),
                                         static_cast<std::uint32_t>(parts));
  return {first, last - first};
}

std::vector<Transfer> plan_all_reduce(Group group, std::size_t me, const Topology& topology, std::size_t n) {
  std::vector<Transfer> transfers;
  Plan plan(group, me, transfers);
  switch (topology.kind) {
    case Topology::Kind::ring:
      plan.ring(n);
      break;
    case Topology::Kind::tree:
      plan.to_head(n);
      plan.from_head({0, n});
      break;
    case Topology::Kind::two_level:
      two_level(group, me, static_cast<std::size_t>(topology.number), n, transfers);
      break;
    case Topology::Kind::servers:
      plan.servers(n, static_cast<std::size_t>(topology.number));
  }
  return transfers;
}

/// A layer's gradient is ready as soon as the backward pass has gone through it, from the last layer to the first, so a
/// bucket of late layers is on its way while earlier layers are still computed. Small buckets begin sooner, large ones
/// need fewer messages (Li et al., PyTorch distributed, VLDB 2020).
std::vector<Bucket> plan_buckets(std::span<const std::size_t> sizes, std::size_t least) {
  std::vector<Bucket> buckets;  // the last one first
  std::size_t end = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (buckets.empty() || buckets.back().elements.count >= least) buckets.push_back({i + 1, 0, {end, 0}});
    Bucket& bucket = buckets.back();
    bucket = {i, bucket.parameters + 1, {bucket.elements.first - sizes[i], bucket.elements.count + sizes[i]}};
    end -= sizes[i];
  }
  return buckets;
}

}  // namespace mangrove::train
