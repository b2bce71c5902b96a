#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "mangrove/base/units.h"
#include "mangrove/infer/exit_segment.h"
#include "mangrove/infer/infer.pb.h"
#include "mangrove/infer/messages.pb.h"
#include "mangrove/infer/schedulers/scheduler.h"

namespace mangrove::infer {

/// One network with early exits that lies over the tiers of a job, in place of a network on each: end devices compute
/// it up to one of its exits and give first answers; for the samples that do not leave there, edge or cloud compute the
/// rest, from the values behind that exit, and give second answers.
/// source: Teerapittayanon, McDanel & Kung, Distributed deep neural networks over the cloud, the edge and end devices,
/// ICDCS 2017.
struct TierExits {
  std::size_t on_end = 0;  // exits of end devices; 0: each tier has a network of its own
  std::size_t exits = 0;   // of the network
  Bytes value_bytes = 0;   // behind the exits of end devices, for a sample

  bool any() const { return on_end > 0; }
};

/// errors: invalid_argument: the network, its thresholds, the tiers, scheduler or goal do not fit each other; names the
/// key. Nothing is checked of a job without such a network.
Result<TierExits> tier_exits(const InferJob& job);

bool has_tier_exits(const InferJob& job);
/// Which part of such a network gives that answer.
ExitRange exit_range(const InferJob& job, Answer answer);
/// Whether devices of that tier of the job (by its position) classify the samples of such a task themselves; else
/// values come with it in their place.
bool sees_samples(const InferJob& job, std::size_t part, Answer answer);
/// Whether devices of that tier need the data set, for the answers that they are there for.
bool needs_data(const InferJob& job, std::size_t part);
bool has_tier_without_data(const InferJob& job);

/// The values behind the end devices' exits that rank 0 holds until the second answer to their batch has come, so that
/// they can be given to another device when one is lost.
class Survivors {
 public:
  explicit Survivors(const TierExits& exits) : exits_(exits) {}

  /// Of the samples of a batch that stayed, in their order.
  void keep(std::size_t batch, std::string values);
  void drop(std::size_t batch) { values_.erase(batch); }
  /// Has the task for a second answer be about them. REQUIRES: they are kept.
  void give(Command& task) const;
  /// That end devices have sent so far.
  Bytes received() const { return received_; }

 private:
  const TierExits exits_;
  std::map<std::size_t, std::string> values_;  // by batch
  Bytes received_ = 0;
};

}  // namespace mangrove::infer
