#include "mangrove/sim/simgrid/network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace mangrove::sim {

namespace s4u = simgrid::s4u;

namespace {

constexpr double kSegment = 1448;    // bytes of a TCP segment in an Ethernet frame
constexpr double kHeaders = 66;      // Ethernet, IP, TCP with timestamps
constexpr double kEnvelope = 40;     // HTTP/2 frames and what net/peer.proto says around a payload
constexpr double kWindow = 4 << 20;  // of a TCP connection, as Linux lets it grow
constexpr unsigned kCarrierStack = 256 * 1024;

/// That one connection comes to at most.
BytesPerSecond rate_of(const Line& line) {
  const Seconds round_trip = 2 * line.delay;
  if (round_trip <= 0) return std::numeric_limits<double>::infinity();
  const double window = kWindow / round_trip;
  if (line.loss <= 0) return window;
  return std::min(window, kSegment / round_trip * std::sqrt(1.5 / line.loss));
}

double wire_bytes(std::size_t bytes) {
  const double all = static_cast<double>(bytes) + kEnvelope;
  return all + kHeaders * std::ceil(all / kSegment);
}

}  // namespace

Network::Network(const World& world, Timeline& timeline, std::uint64_t seed)
    : world_(world), timeline_(timeline), random_(seed) {
  s4u::NetZone* zone = s4u::create_star_zone("world");
  for (std::size_t i = 0; i < world.devices.size(); ++i) {
    const Device& device = world.devices[i];
    const std::string name = std::to_string(i);
    const bool is_slow = random_.uniform() < device.stragglers;
    Place place{zone->create_host(name, device.flops / (is_slow ? device.slowdown : 1)),
                zone->create_link(name + "-up", device.up), zone->create_link(name + "-down", device.down)};
    zone->add_route(place.host->get_netpoint(), nullptr, nullptr, nullptr, {s4u::LinkInRoute(place.up)}, false);
    zone->add_route(nullptr, place.host->get_netpoint(), nullptr, nullptr, {s4u::LinkInRoute(place.down)}, false);
    devices_.push_back(place);
  }
  zone->seal();
}

void Network::send(std::size_t from, std::size_t to, std::size_t bytes, std::function<void()> arrived) {
  const Way way(from, to);
  Flow& flow = flows_[way];
  flow.waiting.push_back({bytes, std::move(arrived)});
  if (std::exchange(flow.is_moving, true)) return;
  const s4u::ActorPtr carrier = s4u::Actor::init("carrier", host(from));
  carrier->set_stacksize(kCarrierStack);
  carrier->start([this, way] { move(way); });
  carrier->daemonize();
}

void Network::move(Way way) {
  Flow& flow = flows_[way];
  while (!flow.waiting.empty()) {
    const Parcel parcel = std::move(flow.waiting.front());
    flow.waiting.pop_front();
    const Line line = world_.line(way.first, way.second);
    const double bytes = wire_bytes(parcel.bytes);
    const Instant least = clock_.after(bytes / rate_of(line));
    s4u::Comm::sendto(host(way.first), host(way.second), static_cast<std::uint64_t>(bytes));
    if (least > clock_.now()) clock_.sleep_until(least);  // SimGrid bounds no rate of transfers without a mailbox
    const Seconds delay = std::max(0.0, line.delay + random_.uniform(-line.jitter, line.jitter));
    flow.last_arrival = std::max(flow.last_arrival, clock_.after(delay));
    timeline_.at(flow.last_arrival, [this, way, arrived = parcel.arrived] { arrive(way, arrived); });
  }
  flow.is_moving = false;
}

void Network::arrive(Way way, const std::function<void()>& arrived) {
  if (is_cut(way.first, way.second)) {
    flows_[way].held.push_back(arrived);
  } else {
    arrived();
  }
}

void Network::part(const std::shared_ptr<const Group>& group) {
  cuts_.push_back(group);
}

void Network::join(const std::shared_ptr<const Group>& group) {
  cuts_.erase(std::find(cuts_.begin(), cuts_.end(), group));
  release();
}

void Network::release() {
  for (auto& [way, flow] : flows_) {
    if (is_cut(way.first, way.second)) continue;
    for (const auto& arrived : std::exchange(flow.held, {})) arrived();
  }
}

bool Network::is_cut(std::size_t from, std::size_t to) const {
  return std::any_of(cuts_.begin(), cuts_.end(), [&](const auto& group) { return (*group)[from] != (*group)[to]; });
}

void Network::scale_links(std::size_t device, double times) {
  for (s4u::Link* link : {devices_.at(device).up, devices_.at(device).down})
    link->set_bandwidth(link->get_bandwidth() * times);
}

}  // namespace mangrove::sim
