#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/testbed/network_plan.h"
#include "mangrove/testbed/relay.h"

namespace mangrove::testbed {

/// The links of a testbed as this machine has them: a bridge, and for each board a network namespace with one device,
/// eth0. Made and removed with the programs `ip` and `tc` (package iproute2). threads: one at a time.
class Network {
 public:
  /// Makes what the plan says. Delay, jitter and loss come from netem where the kernel has it, else from a Relay in
  /// this process. errors: of the first command that fails (quotes it); what was made before is removed.
  static Result<std::unique_ptr<Network>> create(int slot, NetworkPlan plan);
  ~Network();  // removes it

  const NetworkPlan& plan() const { return plan_; }
  FaultMeans means() const { return means_; }  // of the boards that have delay, jitter or loss

 private:
  Network(int slot, NetworkPlan plan) : slot_(slot), plan_(std::move(plan)) {}
  Status make();
  Status make_relay(const BoardLink& link, std::uint64_t seed);

  const int slot_;
  const NetworkPlan plan_;
  FaultMeans means_ = FaultMeans::none;
  std::vector<std::unique_ptr<Relay>> relays_;
};

/// The namespaces and devices on this machine that belong to testbed `slot`, whoever made them.
struct NetworkRemains {
  std::vector<std::string> namespaces;
  std::vector<std::string> devices;  // ports before the bridge
  bool empty() const { return namespaces.empty() && devices.empty(); }
};
/// errors: those of run_tool.
Result<NetworkRemains> find_network(int slot);
/// The slots of which there is a namespace or device. errors: those of run_tool.
Result<std::vector<int>> find_network_slots();
/// Removes all that find_network() finds; processes in the namespaces must have ended. errors: those of run_tool.
Status remove_network(int slot);

}  // namespace mangrove::testbed
