#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/sim/in_child.h"
#include "tests/train/training_job.h"

#include "mangrove/graph/onnx.h"
#include "mangrove/learn/replica.h"
#include "mangrove/sim/simgrid/simulate.h"

namespace mangrove::sim {

/// So many boards on one switch.
inline World boards(std::size_t count) {
  World world;
  world.regions.push_back({.name = "here", .line = {}});
  Device device{.name = "coordinator", .flops = 1e8, .line = {.delay = 1e-4}};
  world.devices.push_back(device);
  for (std::size_t i = 1; i <= count; ++i) {
    device.name = "pi-" + std::to_string(i);
    world.devices.push_back(device);
  }
  return world;
}

/// {"status": "ok", "message", "result": as the job reports it, "parameters": of its model, "log"}
inline nlohmann::json simulated(const train::TrainJob& train, const World& world, std::vector<Fault> faults = {},
                                Seconds limit = 0, bool is_modelled = false) {
  const std::string text = in_child([&] {
    cluster::JobSpec job;
    *job.mutable_train() = train;
    nlohmann::json outcome = {{"status", "ok"}};
    std::string log;
    SimulationOptions options{.faults = std::move(faults), .limit = limit, .is_modelled = is_modelled};
    options.log = [&](std::string_view line) { log += std::string(line) + "\n"; };
    options.report = [&](const Report& report) {
      if (report.kind != ReportKind::result) return;
      outcome["result"] = nlohmann::json::parse(report.json);
      if (report.attachment.empty()) return;
      outcome["parameters"] = learn::flat_parameters(*parse_onnx(report.attachment));
    };
    const Status ended = simulate(job, world, std::move(options));
    if (!ended.ok()) outcome.update({{"status", code_name(ended.code())}, {"message", ended.error().message}});
    outcome["log"] = std::move(log);
    return outcome.dump();
  });
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace mangrove::sim
