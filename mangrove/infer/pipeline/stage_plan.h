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

/// How a graph is cut, which nodes hold each stage, and what that is expected to give.
struct StagePlan {
  /// A node that holds a stage. Several take micro-batches in turn, in proportion to their speed.
  struct Replica {
    net::Rank rank = 0;
    Seconds busy = 0;  // expected, for one micro-batch: computing, packing and unpacking
    Bytes memory = 0;  // expected, of its process, with all stages that it holds; 0: not known
  };
  struct Stage {
    std::vector<std::uint32_t> nodes;    // of the graph, ascending
    std::vector<std::string> operators;  // their names
    std::vector<Replica> replicas;       // at least one
    std::int64_t bytes_per_image = 0;    // sent to the next stage, as the activations are encoded

    bool has(net::Rank rank) const { return std::ranges::count(replicas, rank, &Replica::rank) > 0; }
    /// Between two micro-batches that leave it when it never waits.
    Seconds period() const;
  };
  std::vector<Stage> stages;
  Seconds period = 0;      // between two micro-batches that leave the full pipeline
  Seconds latency = 0;     // of a micro-batch that nothing waits in front of
  std::size_t window = 1;  // micro-batches in flight, where the job does not say how many
  std::string limited_by;  // what the period is of

  /// Of all stages; a rank may hold several of them.
  std::vector<net::Rank> ranks() const;

  /// Of a run of so many micro-batches.
  Seconds seconds(std::int64_t micro_batches) const {
    return latency + period * static_cast<double>(micro_batches - 1);
  }
};

/// Whether the graph can be cut as the job says. errors: invalid_argument (more stages than it has layers; cuts that
/// are not there or not in order, with the nearest name).
Status check_cut(const Graph& graph, const InferJob& job);

/// The best pipeline on these devices, each measured; at least one. job.cuts says where to cut; job.stages how many
/// stages there are, each on one device; 0: as many as are worth it, and as many devices for each of them, so that no
/// single device is predicted to be faster. More stages than devices share these. Devices that share the cores of a
/// machine are predicted to do so. errors: those of check_cut; invalid_argument (profiles of another graph).
Result<StagePlan> plan_stages(const Graph& graph, std::span<const DeviceProfile> devices, const InferJob& job);

/// More than plan::kMostKinds devices are planned for as if they were equal: choices among others would be too many.
/// With a number of stages that must be kept to, these are too many already.
constexpr std::size_t kMostUnlikeExactly = 8;

/// Assumed rate at which a stage's thread packs what it sends, or unpacks what it receives: a few copies.
constexpr double kCutBytesPerSecond = 4e9;

/// For people: one for each replica of each stage.
std::vector<StageOnNode> stage_places(const StagePlan& plan, const Reports& reports);

}  // namespace mangrove::infer
