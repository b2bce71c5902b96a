#pragma once

#include <any>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "mangrove/base/clock.h"
#include "mangrove/base/file.h"
#include "mangrove/base/report.h"
#include "mangrove/base/units.h"
#include "mangrove/net/endpoint.h"
#include "mangrove/net/frame_queue.h"

namespace mangrove::net {

/// Where the time of one step of a role went.
struct StepTimes {
  Instant ended;
  Seconds load = 0;     // samples that were not ready: read, decoded and augmented while it waited
  Seconds compute = 0;  // on samples
  Seconds encode = 0;   // values into messages, and out of them
  Seconds wire = 0;     // messages on their way
  Seconds wait = 0;     // for the server or for peers
};

/// What a strategy is given to play one rank of one job. Rank 0 lives beside the coordinator and leads the job; ranks
/// 1 .. size-1 are one per node.
struct RoleContext {
  Endpoint& endpoint;
  Clock& clock;
  fs::path data_folder;  // where this device finds its data sets
  int threads = 1;       // for kernels
  /// Asked to stop early (Ctrl-C, SIGTERM): rank 0 ends the job in good order, with a checkpoint. Polled between steps.
  std::stop_token stop;
  /// Rank 0 only: to the client. Other ranks' reports go nowhere.
  Reporter report;
  /// Called after each step, for those who watch.
  std::function<void(const StepTimes&)> step_done = [](const StepTimes&) {};
  /// Called before a computation of so many floating-point operations of matrix products: in a simulated world it takes
  /// the device's time here. A real device takes its own.
  std::function<void(double flops)> computing = [](double) {};
  /// Memory of this device's process before it plays the role, where it cannot be measured: simulated devices share a
  /// process.
  std::optional<Bytes> resident = {};
  /// Of simulated devices: where roles of devices that are alike leave for each other what none of them has to keep,
  /// one thing for all of them. One role runs at a time, others only while it waits or in computing(). Null: it is
  /// alone.
  std::any* bench = nullptr;
  /// Rank 0 only: what the client of a job pushes. Null: nothing.
  FrameQueue* frames = nullptr;
  /// Rank 0 of a job with tiers only: the scheduler that the user has switched it to since this was called last.
  std::function<std::optional<std::string>()> switched_to = [] { return std::nullopt; };
};

}  // namespace mangrove::net
