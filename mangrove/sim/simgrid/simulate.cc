#include "mangrove/sim/simgrid/simulate.h"

#include <xbt/log.h>

#include <csignal>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/sanitizer.h"
#include "mangrove/sim/lie_check.h"
#include "mangrove/sim/simgrid/virtual_cluster.h"
#include "mangrove/sim/timing_only.h"

namespace mangrove::sim {

namespace s4u = simgrid::s4u;

namespace {

/// SimGrid has its own way with signals; the program's stays.
class KeptSignals {
 public:
  KeptSignals() {
    for (auto& [signal, action] : actions_) sigaction(signal, nullptr, &action);
  }
  ~KeptSignals() {
    for (const auto& [signal, action] : actions_) sigaction(signal, &action, nullptr);
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  std::pair<int, struct sigaction> actions_[3] = {{SIGINT, {}}, {SIGTERM, {}}, {SIGSEGV, {}}};
};

void set_up_simgrid() {
  const KeptSignals kept;
  xbt_log_control_set("root.thres:error");
  static std::vector<std::string> arguments = {
      "mangrove",
      "--cfg=contexts/stack-size:2048",  // KiB; only what is touched takes memory
  };
  if (kSanitized) arguments.emplace_back("--cfg=contexts/factory:thread");  // sanitizers cannot follow switched stacks
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  auto count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  static s4u::Engine engine(&count, pointers.data());  // SimGrid's rule: one, until the process ends
  s4u::Engine::set_config("network/model:CM02");       // rates are shared; what TCP costs is said in network.cc
  s4u::Engine::set_config("network/crosstraffic:0");
}

}  // namespace

Status simulate(const cluster::JobSpec& job, const World& world, SimulationOptions options) {
  if (s4u::Engine::has_instance()) return make_error(Code::failed_precondition, "a process can simulate only once");
  MG_RETURN_IF_ERROR(check_lies(world, job, options.is_modelled));
  cluster::JobSpec played = job;
  if (options.is_modelled) {
    MG_TRY(played, model(job, options));
  }
  set_up_simgrid();
  VirtualCluster cluster(played, world, std::move(options));
  return cluster.run();
}

}  // namespace mangrove::sim
