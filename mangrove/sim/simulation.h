#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "mangrove/base/file.h"
#include "mangrove/base/report.h"
#include "mangrove/cluster/run_role.h"
#include "mangrove/sim/fault.h"
#include "mangrove/sim/world.h"

namespace mangrove::sim {

struct SimulationOptions {
  std::vector<Fault> faults = {};
  std::uint64_t seed = 1;     // of jitter, stragglers, and of who comes and goes
  fs::path data_folder = {};  // of all devices
  Seconds limit = 0;          // of virtual time, after which the job is given up; 0: none
  std::stop_token stop = {};
  Reporter report = [](Report) {};  // as of a real job, in virtual seconds
  /// Everything that happens in the world, one JSON object each, without a line break: see docs/simulation.md.
  std::function<void(std::string_view)> log = [](std::string_view) {};
  bool is_modelled = false;  // only the time is simulated: see timing_only.h
  double flops_scale = 1;    // a device takes the time of so many FLOPs for each one that its role says
  bool computes = true;      // false: devices leave their kernels out; see job::Device::computes()
  cluster::RoleMain play = cluster::run_role;
  std::function<std::size_t(const net::Message&)> size_of = [](const net::Message& m) { return m.payload.size(); };
};

}  // namespace mangrove::sim
