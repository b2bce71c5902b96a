#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/job/role.h"
#include "mangrove/learn/replica.h"
#include "mangrove/train/hyperparameters.h"
#include "mangrove/train/source.h"
#include "mangrove/train/train.pb.h"

namespace mangrove::train {

/// What a worker computes with, and keeps nothing in between two pieces of work: readers of samples, the compiled
/// network with its buffers, and room for values on their way.
///
/// A worker on a real device has one of its own. Simulated devices that are alike share one (see
/// job::Device::shared()): one role runs at a time, and others only where it waits for a message or where
/// Device::charge() takes its time. So what is read from here must be used before that, and who needs its
/// values afterwards is a ReplicaUser.
/// threads: one at a time.
class ReplicaPool final : public job::SharedState {
 public:
  using Values = std::shared_ptr<const std::vector<float>>;  // see GlobalModel; null: none

  /// This role's: its own, or the one that its device shares. job: outlives it. graph: the job's model, of which the
  /// weights are not kept. fetcher: see Sources. errors: those of Sources::open and planned_replica.
  static Result<std::shared_ptr<ReplicaPool>> of(const TrainJob& job, const Hyperparameters& recipe, const Graph& graph,
                                                 const job::RoleContext& context, ShardFetcher* fetcher);
  /// One that reads these samples.
  static Result<std::shared_ptr<ReplicaPool>> create(const TrainJob& job, const Hyperparameters& recipe,
                                                     const Graph& graph, const job::RoleContext& context,
                                                     std::unique_ptr<Sources> data);

  const Graph& graph() const { return graph_; }  // without the weights
  /// Of training; made once, so that all steps are computed alike.
  const learn::ProcessPlan& plan() const { return *plan_; }
  Sources& data() { return *data_; }
  /// Scratch for values: the parameters, then the states.
  std::span<float> flat() { return flat_; }
  std::span<float> flat_parameters() { return flat().first(parameters_); }
  std::span<float> flat_states() { return flat().subspan(parameters_); }
  /// Of matrix products of a training step on so many samples, and of classifying them.
  double training_flops(std::int64_t samples) const { return sample_flops_ * static_cast<double>(samples); }
  double inference_flops(std::int64_t samples) const;

  /// A worker whose values are in the training replica from one of its turns to the next.
  class ReplicaUser {
   public:
    virtual Status load(learn::Replica& replica) = 0;
    /// Somebody else needs the room. What the replica has is lost after this.
    virtual void evict(learn::Replica& replica) = 0;

   protected:
    ~ReplicaUser() = default;
  };
  /// The replica for training, with what the tenant has left in it; without a tenant, with any values.
  /// errors: those of Replica::create and ReplicaUser::load.
  Result<learn::Replica*> training(ReplicaUser* tenant = nullptr);
  /// What this tenant has in the replica is of no more use.
  void forget(const ReplicaUser& tenant);

  /// A replica for inference with these values. There is no other meanwhile: what is compiled for inference may have
  /// its weights folded, so it is made for them. errors: those of Replica::create.
  Result<learn::Replica*> inference(const Values& values);
  /// The same values as others have them, if they are those of the last inference.
  Values shared(std::vector<float> values) const;

 private:
  ReplicaPool(const TrainJob& job, const Hyperparameters& recipe, const Graph& graph, const job::RoleContext& context,
              std::unique_ptr<Sources> data);
  learn::ReplicaOptions options(Mode mode) const;
  Status make_replica(const Graph& graph, Mode mode);

  const TrainJob& job_;
  const learn::LossOptions loss_;
  const int threads_;
  const Graph graph_;
  const std::size_t parameters_;  // elements
  const std::unique_ptr<Sources> data_;
  std::optional<learn::ProcessPlan> plan_;
  std::unique_ptr<learn::Replica> replica_;
  double sample_flops_ = 0;
  ReplicaUser* tenant_ = nullptr;
  Values inferred_;  // that the replica is made for, if it is one for inference
  std::vector<float> flat_;
};

}  // namespace mangrove::train
