#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mangrove/learn/replica.h"
#include "mangrove/net/role.h"
#include "mangrove/train/master.h"
#include "mangrove/train/messages.pb.h"
#include "mangrove/train/source.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// What a worker needs to make steps of its own: values, and the job's optimizer. What the optimizer remembers (e.g. a
/// velocity) stays here from one work to the next, whatever becomes of the values in between.
/// threads: one at a time.
class LocalSteps {
 public:
  /// interruption: gets the work that ends a run. errors: those of Master::create.
  static Result<std::unique_ptr<LocalSteps>> create(Graph graph, const Recipe& recipe, const TrainJob& job,
                                                    net::RoleContext& context,
                                                    std::optional<net::Message>& interruption);

  /// Whether it tells of as many learning rates as it takes steps.
  bool accepts(const Work& work) const;
  void set_values(std::span<const float> values) { master_->set_values(values); }
  std::span<const float> values() const { return master_->values(); }

  /// Makes the steps of this work: each on a batch of its samples, in their order; in a second pass and later ones in a
  /// random order. `replica` has the values, before and after. Tells the leader now and then how far it is. Nothing:
  /// the leader has other work. errors: those of the loader; cancelled, unavailable (the leader is gone).
  Result<std::optional<learn::BatchStats>> run(const Work& work, learn::Replica& replica, Source& source);

 private:
  struct Batch {
    Source::Samples samples;
    std::int64_t epoch;
  };
  LocalSteps(std::unique_ptr<Master> master, const TrainJob& job, net::RoleContext& context,
             std::optional<net::Message>& interruption);
  std::vector<Batch> batches(const Work& work) const;
  learn::BatchStats step(const data::Batch& batch, float learning_rate, learn::Replica& replica);
  Result<bool> is_interrupted();
  void tell_leader(std::uint64_t round, std::int64_t done);

  std::unique_ptr<Master> master_;
  const TrainJob& job_;
  net::RoleContext& context_;
  std::vector<float> flat_;  // gradient and states
  std::string body_;         // the same as bytes
  std::int64_t steps_ = 0;   // of the optimizer
  Instant last_told_;
  std::optional<net::Message>& interruption_;
};

}  // namespace mangrove::train
