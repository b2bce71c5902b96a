#pragma once

#include <functional>
#include <stop_token>

#include "mangrove/base/clock.h"
#include "mangrove/base/report.h"
#include "mangrove/base/units.h"
#include "mangrove/data/data_folder.h"
#include "mangrove/job/device.h"
#include "mangrove/job/frame_queue.h"
#include "mangrove/net/endpoint.h"

namespace mangrove::job {

/// What those who watch a running job say to its rank 0, such as another scheduler to go on with: the strategy knows
/// what the payload means. The process of rank 0 sends it, as rank 0 to itself.
constexpr net::Tag kControlTag = net::make_tag(net::Purpose::control, 0xffffff);

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
  net::Endpoint& endpoint;
  Clock& clock;
  Device& device;
  data::DataFolder data_folder;  // where this device finds its data sets
  int threads = 1;               // for kernels
  /// Asked to stop early (Ctrl-C, SIGTERM): rank 0 ends the job in good order, with a checkpoint. Polled between steps.
  std::stop_token stop;
  /// Rank 0 only: to the client. Other ranks' reports go nowhere.
  Reporter report;
  /// Called after each step, for those who watch.
  std::function<void(const StepTimes&)> step_done = [](const StepTimes&) {};
  /// Rank 0 only: what the client of a job pushes. Null: nothing.
  FrameQueue* frames = nullptr;
  /// Rank 0 only: called with true when a rank has done nothing of what it was asked to do for a timeout, and with
  /// false when it does something.
  std::function<void(net::Rank rank, bool is_idle)> idle = [](net::Rank, bool) {};
};

}  // namespace mangrove::job
