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
/// Of all devices, in the order of the stages.
std::vector<HeldStage> held(std::span<const PlacedStage> placed);
std::vector<HeldStage> held(std::span<const PlannedStage> planned);

/// Whether the stages of a training pipeline should be cut anew, by what they really take: operators that are measured
/// alone take something else together, and devices get slower or faster.
///
/// At the first look what a stage takes beside the others, more than was expected or less, is put down to its
/// operators: they do on every device. A device that has drifted since then (plan::is_drift), beside the others, is
/// slower or faster with all operators. Only ratios count, as there may be devices that have no stage.
///
/// Other stages are worth it where kRule is met: what is left are the samples to come, and a change costs what the
/// first passage of these stages took besides their work. It looks after some passages, then after twice as
/// many, and so on; at the latest after kLongest more. Whether a plan kept its promise is not looked at. No input or
/// output; threads: one at a time.
class PipelineReplanner {
 public:
  static constexpr int kLongest = 16;
  static constexpr std::int64_t kLeastPasses = 16;  // backward, of a device, to say something of it
  static constexpr plan::ChangeRule kRule{.speedup = 1.05};
  using Profiles = std::map<net::Rank, StageProfile>;

  /// graph: outlives it. stages: of all devices that have one. revisions: that there were before; the first look is
  /// after twice as many passages with each, so that a plan that does not keep its promise costs little.
  PipelineReplanner(const Graph& graph, std::int64_t micro_batch, std::vector<HeldStage> stages, int revisions);

  /// A passage of so many samples. done: of the devices, in order; what makes no sense counts as nothing.
  void add(std::span<const StageWork> done, std::int64_t samples, Seconds seconds);
  /// Whether it is time to look, and all devices that have anything to do have done enough since the last time.
  bool is_due() const;
  /// Looks: the profiles, of each of these devices and any others, as the stages make them out. REQUIRES: is_due().
  Profiles corrected(const Profiles& profiles);

  /// How many times as fast as these stages others are.
  double speedup(const Profiles& profiles, std::span<const HeldStage> others) const;
  /// Whether so many times as fast is worth the price. REQUIRES: corrected() was called.
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
  Seconds seconds_ = 0;  // since the last look, without the price, for so many samples
  std::int64_t samples_ = 0;
  Seconds sample_ = 0;  // of a sample, at the last look
  int passages_ = 0, next_;
};

}  // namespace mangrove::train
