#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "mangrove/plan/revision.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/pipeline/placed_stages.h"
#include "mangrove/train/pipeline/plan.h"

namespace mangrove::train {

/// A stage that a device has.
struct HeldStage {
  net::Rank rank = 0;
  StageRange range;
};
/// The stages of all devices, in the order of the stages.
std::vector<HeldStage> held(std::span<const PlacedStage> placed);
std::vector<HeldStage> held(std::span<const PlannedStage> planned);

/// Decides whether a training pipeline should be cut anew, from the times that its stages really take. Two things make
/// a plan wrong: operators take another time together than each alone, and devices become slower or faster.
///
/// At the first look, the difference between a stage's time and its expected time, relative to the other stages, is
/// attributed to its operators. They then count as slower or faster on every device. At later looks, a device that has
/// drifted since the first one (plan::is_drift), relative to the others, counts as slower or faster with all operators.
/// Only ratios between devices are used, because some devices have no stage.
///
/// A new plan is used if kRule is met. The remaining work is the samples still to come. The price of a change is the
/// time by which the first iteration of these stages took longer than its work. It looks after some iterations, then
/// after twice as many, and so on, but at the latest after kLongest further iterations. It does not check whether a
/// plan was as fast as predicted. No input or output; threads: one at a time.
class PipelineReplanner {
 public:
  static constexpr int kLongest = 16;
  static constexpr std::int64_t kLeastPasses = 16;  // backward passes of a device before it is judged
  static constexpr plan::ChangeRule kRule{.speedup = 1.05};
  using Profiles = std::map<net::Rank, StageProfile>;

  /// graph: must outlive this object. stages: those of all devices that have one. revisions: the number of earlier
  /// changes. Each of them doubles the number of iterations before the first look, so that plans which disappoint cost
  /// little.
  PipelineReplanner(const Graph& graph, std::int64_t micro_batch, std::vector<HeldStage> stages, int revisions);

  /// Adds an iteration of this number of samples. done: what the devices report, in order; values that make no sense
  /// count as nothing.
  void add(std::span<const StageWork> done, std::int64_t samples, Seconds seconds);
  /// Whether it is time to look, and every device with work has done enough of it since the last look.
  bool is_due() const;
  /// Looks: returns the profiles corrected by the measured times of the stages, for the devices with a stage and for
  /// all others. REQUIRES: is_due().
  Profiles corrected(const Profiles& profiles);

  /// How many times as fast the other stages are predicted to be.
  double speedup(const Profiles& profiles, std::span<const HeldStage> others) const;
  /// Whether such a speedup is worth the price of a change. REQUIRES: corrected() was called.
  bool pays(double speedup, std::int64_t samples_left) const;

 private:
  struct Device {
    Seconds busy = 0;                                              // since the last look
    double forward_passes = 0, backward_passes = 0, messages = 0;  // messages: micro-batches that are busy with them
    bool recomputes = false, has_work = false;
    std::optional<double> first;  // factor at the first look
  };
  std::optional<double> factor(std::size_t device, const StageProfile& profile) const;
  Seconds period(const Profiles& profiles, std::span<const HeldStage> stages) const;

  const Graph& graph_;
  const std::int64_t micro_batch_;
  const std::vector<HeldStage> stages_;
  std::vector<Device> devices_;
  Seconds price_ = 0;
  Seconds seconds_ = 0;  // time for samples_ since the last look, without the price
  std::int64_t samples_ = 0;
  Seconds sample_ = 0;  // time for one sample, at the last look
  int iterations_ = 0, next_;
};

}  // namespace mangrove::train
