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

/// The parts of a worker that have no state between two pieces of work: readers of samples, the compiled network with
/// its buffers, and scratch memory for values.
///
/// A worker on a real device has a pool of its own. Simulated devices that are alike share one (see
/// job::Device::shared()). One role runs at a time, and others run only while it waits for a message or while
/// Device::charge() takes its time. So what is read from the pool must be used before that. A worker that needs its
/// values afterwards is a ReplicaUser.
/// threads: one at a time.
class ReplicaPool final : public job::SharedState {
 public:
  using Values = std::shared_ptr<const std::vector<float>>;  // see GlobalModel; null: none

  /// The pool of this role: its own, or the one that its device shares. job: must outlive it. graph: the job's model;
  /// its weights are not kept. fetcher: see Sources. errors: those of Sources::open and planned_replica.
  static Result<std::shared_ptr<ReplicaPool>> of(const TrainJob& job, const Hyperparameters& recipe, const Graph& graph,
                                                 const job::RoleContext& context, ShardFetcher* fetcher);
  /// A pool that reads these samples.
  static Result<std::shared_ptr<ReplicaPool>> create(const TrainJob& job, const Hyperparameters& recipe,
                                                     const Graph& graph, const job::RoleContext& context,
                                                     std::unique_ptr<Sources> data);

  const Graph& graph() const { return graph_; }  // without the weights
  /// The plan of the training replica. It is made once, so that all steps are computed alike.
  const learn::ProcessPlan& plan() const { return *plan_; }
  Sources& data() { return *data_; }
  /// Scratch memory for values: the parameters, then the states.
  std::span<float> flat() { return flat_; }
  std::span<float> flat_parameters() { return flat().first(parameters_); }
  std::span<float> flat_states() { return flat().subspan(parameters_); }
  /// Floating-point operations of the matrix products: in a training step on these samples, and when they are
  /// classified.
  double training_flops(std::int64_t samples) const { return sample_flops_ * static_cast<double>(samples); }
  double inference_flops(std::int64_t samples) const;

  /// A worker whose values stay in the training replica from one of its turns to the next.
  class ReplicaUser {
   public:
    virtual Status load(learn::Replica& replica) = 0;
    /// Another worker needs the replica, and its values are lost after this call.
    virtual void evict(learn::Replica& replica) = 0;

   protected:
    ~ReplicaUser() = default;
  };
  /// The training replica, with the values that the tenant left in it; without a tenant, with any values. errors: those
  /// of Replica::create and ReplicaUser::load.
  Result<learn::Replica*> training(ReplicaUser* tenant = nullptr);
  /// The tenant's values in the replica are not needed any more.
  void forget(const ReplicaUser& tenant);

  /// Frees the replica, until one is needed again.
  void release();

  /// A replica for inference with these values. There is no training replica meanwhile. Compiling for inference may
  /// fold weights into other operators, so the replica is made for these values. errors: those of Replica::create.
  Result<learn::Replica*> inference(const Values& values);
  /// Equal values that others already have, if these are the values of the last inference.
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
  Values inferred_;  // the values of the replica, if it is one for inference
  std::vector<float> flat_;
};

}  // namespace mangrove::train
