#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

#include "mangrove/base/random.h"
#include "mangrove/sim/simgrid/timeline.h"
#include "mangrove/sim/world.h"

namespace mangrove::sim {

/// The devices of a world and the ways between them, on SimGrid: each device is a host with a link up and a link down,
/// whose rates SimGrid shares among the transfers that go over them. The delay of a way comes on top, so that messages
/// follow one another as on a TCP connection: in order, the next one before the last has arrived. Messages do not get
/// lost: loss makes a connection slower.
/// source: Casanova et al., Versatile, scalable, and accurate simulation of distributed applications and platforms,
/// JPDC 2014 (SimGrid); Mathis et al., The macroscopic behavior of the TCP congestion avoidance algorithm, CCR 1997
/// (its rate under loss). threads: actors of SimGrid. There is one in a process, once.
class Network {
 public:
  using Group = std::vector<bool>;  // by device: whether it is one of them

  Network(const World& world, Timeline& timeline, std::uint64_t seed);

  simgrid::s4u::Host* host(std::size_t device) { return devices_.at(device).host; }
  /// The next message of this connection: so many bytes. `arrived` is called when it is there, and must not block.
  void send(std::size_t from, std::size_t to, std::size_t bytes, std::function<void()> arrived);

  /// Nothing gets in or out of the group until join() is called with it.
  void part(const std::shared_ptr<const Group>& group);
  void join(const std::shared_ptr<const Group>& group);
  bool is_cut(std::size_t from, std::size_t to) const;
  /// The device's links carry so many times what they did.
  void scale_links(std::size_t device, double times);

 private:
  struct Place {
    simgrid::s4u::Host* host;
    simgrid::s4u::Link* up;
    simgrid::s4u::Link* down;
  };
  struct Parcel {
    std::size_t bytes;
    std::function<void()> arrived;
  };
  /// One direction of a connection.
  struct Flow {
    std::deque<Parcel> waiting;
    std::deque<std::function<void()>> held;  // have come to where the way is cut
    bool is_moving = false;
    Instant last_arrival;
  };
  using Way = std::pair<std::size_t, std::size_t>;

  void move(Way way);
  void arrive(Way way, const std::function<void()>& arrived);
  void release();

  const World& world_;
  Timeline& timeline_;
  VirtualClock clock_;
  Random random_;
  std::vector<Place> devices_;
  std::map<Way, Flow> flows_;
  std::vector<std::shared_ptr<const Group>> cuts_;
};

}  // namespace mangrove::sim
