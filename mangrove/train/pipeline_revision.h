#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "mangrove/train/messages.pb.h"
#include "mangrove/train/pipeline_plan.h"

namespace mangrove::train {

/// A stage that a device has.
struct HeldStage {
  net::Rank rank = 0;
  StageRange range;
};

/// Whether the stages of a training pipeline should be cut anew, by what they really take: operators that are measured
/// alone take something else together, and devices get slower or faster. It looks after 1, 2, 4, ... passages, and at
/// least after kLongest more.
///
/// A stage that takes up to kDrift times what it was expected to beside the others, or down to its inverse: its
/// operators take that on every device. Further off: its device is slower, or faster, with all of them.
///
/// Other stages are worth it where they are kFaster times as fast, and gain over the samples that are left the price:
/// what the first passage of these ones took besides their work. No input or output; threads: one at a time.
class PipelineRevision {
 public:
  static constexpr int kLongest = 16;
  static constexpr std::int64_t kLeastMicroBatches = 16;  // of each device, to say something
  static constexpr double kDrift = 1.3, kFaster = 1.05;
  using Profiles = std::map<net::Rank, StageProfile>;

  /// graph: outlives it. stages: of all devices that have one.
  PipelineRevision(const Graph& graph, std::int64_t micro_batch, std::vector<HeldStage> stages);

  /// A passage of so many samples. done: of the devices, in order; what makes no sense counts as nothing.
  void add(std::span<const StageWork> done, std::int64_t samples, Seconds seconds);
  /// Whether it is time to look, and all devices have done enough since the last time.
  bool is_due() const;
  /// Looks: the profiles, of each of these devices and any others, as the stages make them out. REQUIRES: is_due().
  Profiles corrected(const Profiles& profiles);

  /// How many times as fast as these stages others are.
  double speedup(const Profiles& profiles, std::span<const HeldStage> others) const;
  /// Whether so many times as fast is worth the price.
  bool pays(double speedup, std::int64_t samples_left) const;

 private:
  struct Sums {
    Seconds busy = 0;
    std::int64_t micro_batches = 0;
  };
  double factor(std::size_t device, const StageProfile& profile) const;
  Seconds period(const Profiles& profiles, std::span<const HeldStage> stages) const;

  const Graph& graph_;
  const std::int64_t micro_batch_;
  const std::vector<HeldStage> stages_;
  std::vector<Sums> sums_;           // of each since the last look
  Seconds price_ = 0, seconds_ = 0;  // seconds: of all passages, without the price
  std::int64_t samples_ = 0;
  int passages_ = 0, next_ = 1;
};

}  // namespace mangrove::train
