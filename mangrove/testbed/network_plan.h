#pragma once

#include <string>
#include <vector>

#include "mangrove/testbed/board_file.h"

namespace mangrove::testbed {

/// Testbeds on one machine are told apart by a number; all that one makes is named after it.
constexpr int kSlots = 256;
std::string group_name(int slot);        // mangrove-testbed-3: its control groups
std::string namespace_prefix(int slot);  // mangrove-3-: of its network namespaces
std::string bridge_name(int slot);       // mgtb3
std::string port_prefix(int slot);       // mgtb3-: of the bridge's ports

/// One board's place in the network.
struct BoardLink {
  Board board;
  std::string netns;    // mangrove-3-pi-1
  std::string port;     // the end of its link at the bridge: mgtb3-1
  std::string address;  // 198.18.3.2
};

/// One bridge with an address of this machine, and a link to each board. Addresses are of 198.18.0.0/15, which is kept
/// for measurements of networks (RFC 2544), one /24 for each testbed.
struct NetworkPlan {
  std::string bridge;
  std::string address;  // of this machine: 198.18.3.1
  std::vector<BoardLink> links;

  NetworkPlan(int slot, const std::vector<Board>& boards);
};

/// How a link gets delay, jitter and loss.
enum class FaultMeans { none, netem, relay };

/// The commands that make the bridge, in their order.
std::vector<std::string> bridge_commands(const NetworkPlan& plan);
/// The commands that make a board's namespace and its link. With a relay both ends, `port` and `port`n, are there
/// already.
std::vector<std::string> link_commands(const NetworkPlan& plan, const BoardLink& link, FaultMeans means);
/// The command that cuts a link or mends it: the bridge drops what comes from the port and what would go there; nobody
/// is told.
std::string cut_command(const std::string& port, bool is_cut);

/// The name of a relayed link's other end before it is the board's eth0.
std::string relay_end(const BoardLink& link);

}  // namespace mangrove::testbed
