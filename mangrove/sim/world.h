#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::sim {

/// What a way does to what goes over it, in each direction.
struct Line {
  Seconds delay = 0;   // one way
  Seconds jitter = 0;  // each message's delay is uniform within delay -+ jitter
  double loss = 0;     // share of the packets; TCP sends them again and goes slower

  Line operator+(const Line& next) const {
    return {delay + next.delay, jitter + next.jitter, 1 - (1 - loss) * (1 - next.loss)};
  }
};

/// One virtual device.
struct Device {
  std::string name;
  std::size_t region = 0;
  double flops = 1e9;          // floating-point operations of matrix products per second, as training reaches them
  Bytes memory = 0;            // that its process may come to; 0: not limited
  BytesPerSecond up = 12.5e6;  // of its link, with the headers of Ethernet, IP and TCP
  BytesPerSecond down = 12.5e6;
  Line line;                    // of its link
  BytesPerSecond handling = 0;  // of messages, in its process: packing, unpacking, adding up; 0: takes no time
  double stragglers = 0;        // probability that it is one
  double slowdown = 1;          // of a straggler: its computations take so many times as long
  double churn = 0;             // probability that it leaves within an hour
  Seconds away = 600;           // on average, until it is back
  std::string lies = {};        // what it does to its updates or answers, see Liar; empty: it is honest
  double from = 0, to = 24;     // hours of the day, of its region, at which it is there
};

struct Region {
  std::string name;
  Line line;        // from here to the middle of the world
  double hour = 0;  // of the day, when the simulation begins
};

/// Devices, where they are, and the ways between them.
struct World {
  std::vector<Region> regions;                               // at least one
  std::map<std::pair<std::size_t, std::size_t>, Line> ways;  // between two regions, where they are given; lower first
  std::vector<Device> devices;                               // the first is the coordinator's

  /// From link to link: both links', and that between their regions.
  Line line(std::size_t from, std::size_t to) const;
};

constexpr std::size_t kMostDevices = 100'000;

/// A world file, YAML: a section for each kind of device, "coordinator", "region NAME", "NAME - NAME" (a way between
/// regions). docs/simulation.md lists the keys. errors: not_found; invalid_argument (an unknown key or region, a value
/// that does not fit, no device; names file, line and key).
Result<World> load_world(const fs::path& path);

}  // namespace mangrove::sim
