#include "mangrove/train/data_parallel/all_reduce_topology.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "mangrove/base/call_syntax.h"
#include "mangrove/data/loader.h"

namespace mangrove::train {
namespace {

using Group = std::span<const net::Rank>;

/// Writes down what one rank of a group does.
class Plan {
 public:
  Plan(Group group, std::size_t me, std::vector<Transfer>& transfers) : group_(group), me_(me), transfers_(transfers) {}

  /// Each part goes around once and is added to, then around once more as it is.
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

  /// Sums flow to the first rank of the group along a binomial tree.
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

  /// The first ranks are the servers of a part each; where there are fewer ranks, they serve more than one.
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
  if (const auto group = number_argument_of(text, "two_level"); group && *group >= 2)
    return Topology{Topology::Kind::two_level, *group};
  if (const auto servers = number_argument_of(text, "servers"); servers && *servers >= 1 && *servers <= 1'000'000)
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
