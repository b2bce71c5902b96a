#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mangrove/place/scenario.h"

namespace mangrove::place {

/// Ways over several links: of least delay, among these of fewest links. An item is passed on once it has come as a
/// whole, so its time over a way is the sum of the links' delays and of its bytes by their rates.
/// source: Dijkstra, A note on two problems in connexion with graphs, 1959.
/// memory: 44 bytes for each pair of devices whose way was asked for. threads: one at a time.
class Routes {
 public:
  /// scenario must live as long.
  explicit Routes(const Scenario& scenario);

  bool is_connected(std::size_t from, std::size_t to) { return tree(from).seconds_per_byte[to] >= 0; }
  /// How long an item of so many bytes takes. The devices are connected; from a device to itself it takes no time.
  Seconds time(std::size_t from, std::size_t to, double bytes) {
    const Tree& t = tree(from);
    return t.delay[to] + bytes * t.seconds_per_byte[to];
  }
  /// The same with the longest delays and the lowest rates that links may come to.
  Seconds worst_time(std::size_t from, std::size_t to, double bytes) {
    const Tree& t = tree(from);
    return t.longest_delay[to] + bytes * t.most_seconds_per_byte[to];
  }
  /// What a byte costs.
  double price(std::size_t from, std::size_t to) { return tree(from).price_per_byte[to]; }
  /// Calls visit(link) for each link of the way.
  template <class Visit>
  void each_link(std::size_t from, std::size_t to, const Visit& visit) {
    const Tree& t = tree(from);
    for (std::size_t device = to; device != from;) {
      const std::size_t link = t.link[device];
      visit(link);
      device = scenario_.links[link].from == device ? scenario_.links[link].to : scenario_.links[link].from;
    }
  }

 private:
  struct Tree {
    std::vector<std::uint32_t> link;                              // the last one of the way to a device
    std::vector<double> delay, seconds_per_byte, price_per_byte;  // not connected: seconds_per_byte is -1
    std::vector<double> longest_delay, most_seconds_per_byte;
  };
  const Tree& tree(std::size_t from) {
    if (!trees_[from]) trees_[from] = std::make_unique<Tree>(grow(from));
    return *trees_[from];
  }
  Tree grow(std::size_t from) const;

  const Scenario& scenario_;
  std::vector<std::vector<std::uint32_t>> links_of_;  // by device
  std::vector<std::unique_ptr<Tree>> trees_;          // by the device that they begin at
};

}  // namespace mangrove::place
