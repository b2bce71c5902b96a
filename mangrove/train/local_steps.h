#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mangrove/learn/optimizer.h"
#include "mangrove/learn/replica.h"
#include "mangrove/net/role.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/source.h"
#include "mangrove/train/step_timer.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// What a worker needs to make steps of its own: values, and the job's optimizer, which works on the replica's own
/// buffers. What it remembers (e.g. a velocity) stays here from one work to the next, whatever becomes of the values in
/// between.
/// threads: one at a time.
class LocalSteps {
 public:
  /// interruption: gets the work that ends a run.
  LocalSteps(const learn::OptimizerOptions& optimizer, const TrainJob& job, net::RoleContext& context,
             std::optional<net::Message>& interruption);

  /// Whether it tells of as many learning rates as it takes steps.
  bool accepts(const Work& work) const;
  void set_values(std::span<const float> values) { values_.assign(values.begin(), values.end()); }
  /// Those of the last work that was done, or that were set since. See Master.
  std::span<const float> values() const { return values_; }

  /// Makes the steps of this work: each on a batch of its samples, in their order; in a second pass and later ones in a
  /// random order. `replica` has the values, and always the same program. Tells the leader now and then how far it is,
  /// and the timer when it loads and when it computes.
  /// Nothing: the leader has other work. errors: those of Optimizer::create and the loader; cancelled, unavailable (the
  /// leader is gone).
  Result<std::optional<learn::BatchStats>> run(const Work& work, learn::Replica& replica, Source& source,
                                               StepTimer& timer);

 private:
  struct Batch {
    Source::Samples samples;
    std::int64_t epoch;
  };
  std::vector<Batch> batches(const Work& work) const;
  Status take_up(learn::Replica& replica);
  Result<bool> is_interrupted();
  void tell_leader(std::uint64_t round, std::int64_t done);

  const learn::OptimizerOptions optimizer_options_;
  const TrainJob& job_;
  net::RoleContext& context_;
  std::vector<float> values_;
  std::optional<learn::Optimizer> optimizer_;
  std::int64_t steps_ = 0;  // of the optimizer
  Instant last_told_;
  std::optional<net::Message>& interruption_;
};

}  // namespace mangrove::train
