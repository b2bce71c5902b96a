#pragma once

#include <map>

#include "mangrove/train/data_parallel/leader.h"
#include "mangrove/train/data_parallel/worker_momentum.h"

namespace mangrove::train {

/// A parameter server that makes an update with each worker's gradient as soon as it arrives.
///
/// A worker has the values (n floats) and computes a gradient on its own batch. It sends the gradient (n floats); the
/// server makes an update at once and sends the new values back. No worker waits for another.
///
/// Staleness s is the number of updates that the server made while the worker computed. The gradient belongs to values
/// that are s updates old, so its learning rate is divided by 1 + s. P equal workers have s = P - 1, and P of their
/// updates together move the values about as far as one synchronous step does. An old gradient of a slow worker counts
/// little. Each worker has its own momentum (see WorkerMomentum). With a bound S, a worker that is S updates ahead of
/// the slowest waits for it.
///
/// right    Each update follows a gradient of the loss, at most s updates late. The results depend on the order in
///          which answers arrive, so two runs differ.
/// cost     Each update moves n f32 to one worker and n f32 back. A codec makes these messages smaller.
/// memory   With momentum, the server keeps one vector of n floats for each worker.
/// source   Dean et al., Large scale distributed deep networks, NIPS 2012; Zhang et al., Staleness-aware async-SGD for
///          distributed deep learning, IJCAI 2016 (the rate); Ho et al., More effective distributed ML via a stale
///          synchronous parallel parameter server, NIPS 2013 (the bound).
class AsynchronousServer final : public Leader {
 public:
  /// bound: the S above; 0 means that no worker ever waits. errors: those of GlobalModel::create.
  static Result<std::unique_ptr<AsynchronousServer>> create(const TrainJob& job, job::RoleContext& context, Graph graph,
                                                            const Hyperparameters& recipe, std::int64_t bound);

 private:
  AsynchronousServer(const TrainJob& job, job::RoleContext& context, const Hyperparameters& recipe,
                     std::unique_ptr<GlobalModel> model, std::int64_t bound);
  Status advance() override;
  std::int64_t samples_per_step(std::size_t) const override { return static_cast<std::int64_t>(batch()); }
  std::size_t workers_in_step(std::size_t workers) const override { return root_of(workers); }
  void count_newcomers();
  bool may_go_on(net::Rank rank) const;
  std::int64_t slowest() const;
  void start(net::Rank rank);

  const std::int64_t bound_;
  WorkerMomentum momentum_;
  std::map<net::Rank, std::int64_t> updates_;  // updates that each worker in use has made
};

}  // namespace mangrove::train
