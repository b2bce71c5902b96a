#include "mangrove/testbed/network.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "mangrove/base/log.h"
#include "mangrove/testbed/tool.h"

namespace mangrove::testbed {
namespace {

Status run_all(const std::vector<std::string>& commands) {
  for (const std::string& command : commands) MG_RETURN_IF_ERROR(run_tool(command));
  return {};
}

/// The first word of each line; "mgtb0-1@if2" is the device mgtb0-1.
std::vector<std::string> first_words(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) words.push_back(line.substr(0, line.find_first_of(" @")));
  return words;
}

Result<std::vector<std::string>> all_namespaces() {
  MG_TRY(const std::string text, run_tool("ip netns list"));
  return first_words(text);
}

Result<std::vector<std::string>> all_devices() {
  MG_TRY(const std::string text, run_tool("ip -brief link show"));
  return first_words(text);
}

/// The number behind `prefix`, if the name goes on with it; -1: it does not.
int slot_behind(const std::string& name, const std::string& prefix) {
  int slot = -1;
  if (!name.starts_with(prefix)) return -1;
  const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), slot);
  const bool ends_there = end == name.data() + name.size() || *end == '-';
  return error == std::errc() && ends_there && slot >= 0 && slot < kSlots ? slot : -1;
}

/// Whether this kernel has netem: tried on the bridge, which carries nothing yet.
bool has_netem(const std::string& bridge) {
  if (!run_tool("tc qdisc add dev " + bridge + " root netem delay 1ms").ok()) return false;
  return run_tool("tc qdisc del dev " + bridge + " root").ok();
}

}  // namespace

Result<std::unique_ptr<Network>> Network::create(int slot, NetworkPlan plan) {
  auto network = std::unique_ptr<Network>(new Network(slot, std::move(plan)));
  MG_RETURN_IF_ERROR(network->make());  // its destructor removes what was made
  return network;
}

Status Network::make() {
  MG_RETURN_IF_ERROR(run_all(bridge_commands(plan_)));
  const bool is_wanted = std::any_of(plan_.links.begin(), plan_.links.end(),
                                     [](const BoardLink& link) { return link.board.has_line_faults(); });
  if (is_wanted) means_ = has_netem(plan_.bridge) ? FaultMeans::netem : FaultMeans::relay;
  std::uint64_t seed = 0;
  for (const BoardLink& link : plan_.links) {
    ++seed;
    const FaultMeans means = link.board.has_line_faults() ? means_ : FaultMeans::none;
    if (means == FaultMeans::relay) MG_RETURN_IF_ERROR(make_relay(link, seed));
    MG_RETURN_IF_ERROR(run_all(link_commands(plan_, link, means)));
  }
  return {};
}

Status Network::make_relay(const BoardLink& link, std::uint64_t seed) {
  MG_TRY(Descriptor port, open_tap(link.port));
  MG_TRY(Descriptor end, open_tap(relay_end(link)));
  const Board& board = link.board;
  const LineFaults faults{board.delay, board.jitter, board.loss};
  MG_TRY(std::unique_ptr<Relay> relay, Relay::create(std::move(port), std::move(end), faults, seed));
  relays_.push_back(std::move(relay));
  return {};
}

Network::~Network() {
  relays_.clear();  // their devices go with them
  if (const Status removed = remove_network(slot_); !removed.ok())
    log_warn("testbed: network not removed", {{"reason", removed.error().message}});
}

Result<NetworkRemains> find_network(int slot) {
  NetworkRemains found;
  MG_TRY(const std::vector<std::string> namespaces, all_namespaces());
  MG_TRY(const std::vector<std::string> devices, all_devices());
  for (const std::string& name : namespaces)
    if (name.starts_with(namespace_prefix(slot))) found.namespaces.push_back(name);
  for (const std::string& name : devices)
    if (name.starts_with(port_prefix(slot))) found.devices.push_back(name);
  const std::string bridge = bridge_name(slot);
  if (std::find(devices.begin(), devices.end(), bridge) != devices.end()) found.devices.push_back(bridge);
  return found;
}

Result<std::vector<int>> find_network_slots() {
  MG_TRY(const std::vector<std::string> namespaces, all_namespaces());
  MG_TRY(const std::vector<std::string> devices, all_devices());
  std::set<int> slots;
  for (const std::string& name : namespaces) slots.insert(slot_behind(name, "mangrove-"));
  for (const std::string& name : devices) slots.insert(slot_behind(name, "mgtb"));
  slots.erase(-1);
  return std::vector<int>(slots.begin(), slots.end());
}

Status remove_network(int slot) {
  MG_TRY(const NetworkRemains remains, find_network(slot));
  Status first;
  const auto run = [&](const std::string& command) {
    Result<std::string> done = run_tool(command);
    if (!done.ok() && first.ok()) first = done.error();
  };
  // links first: deleting a namespace takes effect a little later
  for (const std::string& device : remains.devices) run("ip link del " + device);
  for (const std::string& name : remains.namespaces) run("ip netns del " + name);
  return first;
}

}  // namespace mangrove::testbed
