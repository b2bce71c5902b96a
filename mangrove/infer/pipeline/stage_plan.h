#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/pipeline/device_profile.h"
#include "mangrove/infer/pipeline/report.h"
#include "mangrove/infer/reports.h"

namespace mangrove::infer {

/// How a graph is cut, which nodes have each stage, and the predicted performance.
struct StagePlan {
  /// A node that has a stage. Several nodes of a stage take micro-batches in turn, in proportion to their speed.
  struct Replica {
    net::Rank rank = 0;
    Seconds busy = 0;  // predicted time for one micro-batch: computing, packing and unpacking
    Bytes memory = 0;  // predicted memory of its process, with all of its stages; 0: not known
  };
  struct Stage {
    std::vector<std::uint32_t> nodes;    // the graph's nodes in this stage, ascending
    std::vector<std::string> operators;  // their names
    std::vector<Replica> replicas;       // at least one
    std::int64_t bytes_per_image = 0;    // encoded activations that are sent to the next stage

    bool has(net::Rank rank) const { return std::ranges::count(replicas, rank, &Replica::rank) > 0; }
    /// Time between two micro-batches that leave this stage, if it never waits.
    Seconds period() const;
  };
  std::vector<Stage> stages;
  Seconds period = 0;      // time between two micro-batches that leave the full pipeline
  Seconds latency = 0;     // time of a micro-batch that never waits behind another
  std::size_t window = 1;  // micro-batches in flight, if the job does not say how many
  std::string limited_by;  // the stage or link that determines the period

  /// By stage, the ranks that hold it.
  std::vector<std::vector<net::Rank>> holders() const;
  /// The ranks of all stages. A rank may have several stages.
  std::vector<net::Rank> ranks() const;

  /// The predicted time of a run of this number of micro-batches.
  Seconds seconds(std::int64_t micro_batches) const {
    return latency + period * static_cast<double>(micro_batches - 1);
  }
};

/// Whether the graph can be cut as the job says. errors: invalid_argument (more stages than layers; cuts that do not
/// exist or are not in order; names the nearest name).
Status check_cut(const Graph& graph, const InferJob& job);

/// The best pipeline on these measured devices; at least one. `job.cuts` says where to cut. `job.stages` says how many
/// stages there are, each on one device. With 0 stages, the plan has as many stages, and as many devices for each, as
/// pay: no single device is predicted to be faster. If there are more stages than devices, devices have several.
/// Devices on one machine are predicted to share its cores. No device gets more than its memory holds. errors: those of
/// check_cut; invalid_argument (profiles of another graph); resource_exhausted (the network does not fit on the
/// devices; says the least memory that would be enough).
Result<StagePlan> plan_stages(const Graph& graph, std::span<const DeviceProfile> devices, const InferJob& job);

/// If there are more than plan::kMostKinds devices, similar ones are planned for as if they were equal, because there
/// would be too many choices otherwise. With a fixed number of stages, this already holds from this number of devices
/// on.
constexpr std::size_t kMostUnlikeExactly = 8;

/// Assumed rate at which the thread of a stage packs the values that it sends, or unpacks those that it receives. This
/// is a few copies.
constexpr double kCutBytesPerSecond = 4e9;

/// A description for people, one entry for each replica of each stage.
std::vector<StageOnNode> stage_places(const StagePlan& plan, const Reports& reports);

}  // namespace mangrove::infer
