#include "mangrove/place/routes.h"

#include <queue>
#include <tuple>
#include <utility>

namespace mangrove::place {

Routes::Routes(const Scenario& scenario)
    : scenario_(scenario), links_of_(scenario.devices.size()), trees_(scenario.devices.size()) {
  for (std::size_t l = 0; l < scenario.links.size(); ++l) {
    links_of_[scenario.links[l].from].push_back(static_cast<std::uint32_t>(l));
    links_of_[scenario.links[l].to].push_back(static_cast<std::uint32_t>(l));
  }
}

Routes::Tree Routes::grow(std::size_t from) const {
  const std::size_t count = scenario_.devices.size();
  Tree tree{std::vector<std::uint32_t>(count, 0), std::vector<double>(count, 0), std::vector<double>(count, -1),
            std::vector<double>(count, 0),        std::vector<double>(count, 0), std::vector<double>(count, 0)};
  using Reached =
      std::tuple<double, std::size_t, std::size_t, std::size_t, std::uint32_t>;  // delay, links, to, by, link
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> next;
  next.emplace(0.0, 0, from, from, 0);
  while (!next.empty()) {
    const auto [delay, hops, device, before, by] = next.top();
    next.pop();
    if (tree.seconds_per_byte[device] >= 0) continue;
    tree.delay[device] = delay;
    tree.link[device] = by;
    const bool is_first = device == from;
    tree.longest_delay[device] = is_first ? 0 : tree.longest_delay[before] + scenario_.links[by].longest_delay();
    tree.most_seconds_per_byte[device] =
        is_first ? 0 : tree.most_seconds_per_byte[before] + 1 / scenario_.links[by].lowest_rate();
    tree.seconds_per_byte[device] = is_first ? 0 : tree.seconds_per_byte[before] + 1 / scenario_.links[by].rate;
    tree.price_per_byte[device] =
        is_first ? 0 : tree.price_per_byte[before] + scenario_.links[by].price / kBytesOfPrice;
    for (const std::uint32_t l : links_of_[device]) {
      const Link& link = scenario_.links[l];
      const std::size_t other = link.from == device ? link.to : link.from;
      if (tree.seconds_per_byte[other] < 0) next.emplace(delay + link.delay, hops + 1, other, device, l);
    }
  }
  return tree;
}

}  // namespace mangrove::place
