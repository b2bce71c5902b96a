#include "mangrove/testbed/network_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mangrove::testbed {
namespace {

constexpr double kFrame = 1514;  // bytes

/// A token bucket. It holds 6 ms of the rate (the kernel's clock ticks every 1 to 10 ms), its queue 50 ms; slow links
/// have room for some frames all the same. From 100 Mbit/s on, the bucket takes what TCP hands to a network card that
/// cuts segments itself, 64 KiB at once: else the kernel cuts it into frames, and carries each over the emulated
/// network in the time of the board that sends it.
std::string token_bucket(BytesPerSecond rate) {
  const double burst = std::max(rate * 0.006, 2 * kFrame);
  const double queue = std::max(rate * 0.05, 20 * kFrame) + burst;
  return fmt::format("tbf rate {:.0f}bit burst {:.0f} limit {:.0f}", rate * 8, burst, queue);
}

std::string network_emulator(const Board& board) {
  constexpr int kMostFrames = 20'000;  // on their way
  std::string text = fmt::format("netem limit {} delay {:.0f}us", kMostFrames, board.delay * 1e6);
  if (board.jitter > 0) text += fmt::format(" {:.0f}us", board.jitter * 1e6);
  if (board.loss > 0) text += fmt::format(" loss {:.6f}%", board.loss * 100);
  return text;
}

/// What one end of the link sends through: the rate, and behind it the delay.
std::vector<std::string> queue_commands(const std::string& tc, const std::string& device, const Board& board,
                                        bool has_netem) {
  std::vector<std::string> commands;
  const std::string add = tc + " qdisc add dev " + device;
  if (has_netem) commands.push_back(add + " root handle 1: " + network_emulator(board));
  if (board.rate > 0)
    commands.push_back(add + (has_netem ? " parent 1: handle 2: " : " root ") + token_bucket(board.rate));
  return commands;
}

/// The route to all boards, from this address. TCP that takes it does what Linux does where nobody chose otherwise:
/// BBR, which some machines have instead, loses many segments to the short queue of a token bucket.
std::string route(const std::string& address, const std::string& device) {
  const std::string network = address.substr(0, address.rfind('.')) + ".0/24";
  return fmt::format("route replace {} dev {} scope link src {} congctl cubic", network, device, address);
}

}  // namespace

std::string group_name(int slot) {
  return fmt::format("mangrove-testbed-{}", slot);
}

std::string namespace_prefix(int slot) {
  return fmt::format("mangrove-{}-", slot);
}

std::string bridge_name(int slot) {
  return fmt::format("mgtb{}", slot);
}

std::string port_prefix(int slot) {
  return bridge_name(slot) + "-";
}

NetworkPlan::NetworkPlan(int slot, const std::vector<Board>& boards)
    : bridge(bridge_name(slot)), address(fmt::format("198.18.{}.1", slot)) {
  for (std::size_t i = 0; i < boards.size(); ++i)
    links.push_back({boards[i], namespace_prefix(slot) + boards[i].name, port_prefix(slot) + std::to_string(i + 1),
                     fmt::format("198.18.{}.{}", slot, i + 2)});
}

std::string relay_end(const BoardLink& link) {
  return link.port + "n";
}

std::vector<std::string> bridge_commands(const NetworkPlan& plan) {
  return {"ip link add name " + plan.bridge + " type bridge", "ip addr add " + plan.address + "/24 dev " + plan.bridge,
          "ip link set " + plan.bridge + " up", "ip " + route(plan.address, plan.bridge)};
}

std::vector<std::string> link_commands(const NetworkPlan& plan, const BoardLink& link, FaultMeans means) {
  const std::string inside = "ip -n " + link.netns;
  std::vector<std::string> commands{"ip netns add " + link.netns};
  if (means == FaultMeans::relay) {
    commands.push_back("ip link set " + relay_end(link) + " netns " + link.netns + " name eth0");
  } else {
    commands.push_back("ip link add name " + link.port + " type veth peer name eth0 netns " + link.netns);
  }
  commands.push_back("ip link set " + link.port + " master " + plan.bridge + " up");
  commands.push_back(inside + " addr add " + link.address + "/24 dev eth0");
  commands.push_back(inside + " link set lo up");
  commands.push_back(inside + " link set eth0 up");
  commands.push_back(inside + " " + route(link.address, "eth0"));
  const bool has_netem = means == FaultMeans::netem;
  for (const auto& queue : {queue_commands("tc", link.port, link.board, has_netem),
                            queue_commands("tc -n " + link.netns, "eth0", link.board, has_netem)})
    commands.insert(commands.end(), queue.begin(), queue.end());
  return commands;
}

std::string cut_command(const std::string& port, bool is_cut) {
  return fmt::format("bridge link set dev {} state {}", port, is_cut ? "disabled" : "forwarding");
}

}  // namespace mangrove::testbed
