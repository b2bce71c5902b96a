#include "mangrove/plan/cuts.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace mangrove::plan {
namespace {

void put(std::vector<std::uint64_t>& set, std::size_t layer) {
  set[layer / 64] |= std::uint64_t{1} << (layer % 64);
}

bool is_within(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  for (std::size_t w = 0; w < a.size(); ++w)
    if ((a[w] & ~b[w]) != 0) return false;
  return true;
}

}  // namespace

Cuts::Cuts(const Layers& network, std::span<const Seconds> work, std::size_t most) : layers_(network.layers.size()) {
  before_.assign(layers_, Set((layers_ + 63) / 64, 0));
  std::vector<std::vector<std::size_t>> reads(layers_);
  for (const Flow& flow : network.flows)
    for (const std::size_t to : flow.to)
      if (flow.from) reads[to].push_back(*flow.from);
  for (std::size_t i = 0; i < layers_; ++i) {
    put(before_[i], i);
    for (const std::size_t from : reads[i])
      for (std::size_t w = 0; w < before_[i].size(); ++w) before_[i][w] |= before_[from][w];
  }
  enumerate(reads, most);
  sort(work);
  describe(network);
}

/// From the empty set on, by adding one layer at a time whose makers are all there.
void Cuts::enumerate(const std::vector<std::vector<std::size_t>>& reads, std::size_t most) {
  const Set empty((layers_ + 63) / 64, 0);
  std::set<Set> known{empty};
  sets_ = {empty};
  for (std::size_t at = 0; at < sets_.size() && sets_.size() <= most; ++at) {
    for (std::size_t i = 0; i < layers_; ++i) {
      const auto is_there = [&](std::size_t layer) { return holds(at, layer); };
      if (is_there(i) || !std::ranges::all_of(reads[i], is_there)) continue;
      Set more = sets_[at];
      put(more, i);
      if (known.insert(more).second) sets_.push_back(std::move(more));
    }
  }
  if (sets_.size() <= most) return;
  // of a chain, where each layer needs the one before it, these are all
  for (std::size_t i = 1; i < layers_; ++i) all_ = all_ && (before_[i][(i - 1) / 64] >> ((i - 1) % 64) & 1) != 0;
  sets_ = {empty};
  for (std::size_t i = 0; i < layers_; ++i) {
    sets_.push_back(sets_.back());
    put(sets_.back(), i);
  }
}

void Cuts::sort(std::span<const Seconds> work) {
  const std::vector<Seconds> done = sums(work);
  const auto count = [&](std::size_t cut) {
    return std::accumulate(sets_[cut].begin(), sets_[cut].end(), 0,
                           [](int sum, std::uint64_t word) { return sum + __builtin_popcountll(word); });
  };
  std::vector<std::size_t> order(sets_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return done[a] != done[b] ? done[a] < done[b] : count(a) < count(b);
  });
  std::vector<Set> sorted;
  for (const std::size_t cut : order) sorted.push_back(std::move(sets_[cut]));
  sets_ = std::move(sorted);
}

void Cuts::describe(const Layers& network) {
  bytes_.assign(sets_.size(), 0);
  parts_network_.assign(sets_.size(), true);
  for (std::size_t cut = 0; cut < sets_.size(); ++cut) {
    const bool is_end = cut == 0 || cut + 1 == sets_.size();
    for (const Flow& flow : network.flows) {
      const bool is_made = !flow.from || holds(cut, *flow.from);
      const bool is_wanted =
          flow.is_result || std::ranges::any_of(flow.to, [&](std::size_t to) { return !holds(cut, to); });
      if (!is_end && is_made && is_wanted) bytes_[cut] += flow.bytes;
    }
    // a cut that is neither within nor around this one has a layer behind it that does not need all before it
    for (std::size_t i = 0; i < layers_ && parts_network_[cut]; ++i)
      parts_network_[cut] = !all_ || holds(cut, i) || is_within(sets_[cut], before_[i]);
  }
}

bool Cuts::within(std::size_t a, std::size_t b) const {
  return is_within(sets_[a], sets_[b]);
}

std::vector<std::size_t> Cuts::layers(std::size_t first, std::size_t last) const {
  std::vector<std::size_t> between;
  for (std::size_t i = 0; i < layers_; ++i)
    if (holds(last, i) && !holds(first, i)) between.push_back(i);
  return between;
}

}  // namespace mangrove::plan
