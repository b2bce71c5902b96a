#pragma once

#include <map>

#include "mangrove/train/data_parallel/leader.h"
#include "mangrove/train/data_parallel/worker_momentum.h"

namespace mangrove::train {

/// A parameter server whose every update is of one worker's batch, as soon as it is there; that worker goes on with the
/// new values at once. An update is late by its staleness, the updates since its values went out; the learning rate is
/// divided by 1 + staleness, so that P equal workers move the values as far as one synchronous step of theirs does, and
/// a straggler's old gradient counts little. Momentum is each worker's own. Results depend on who is first.
///
/// With a bound s, a worker that has made s updates more than the slowest waits for it.
/// source  Dean et al., Large scale distributed deep networks, NIPS 2012; Zhang et al., Staleness-aware async-SGD for
///         distributed deep learning, IJCAI 2016 (the rate); Ho et al., More effective distributed ML via a stale
///         synchronous parallel parameter server, NIPS 2013 (the bound).
class AsynchronousServer final : public Leader {
 public:
  /// bound: 0 lets everyone run. errors: those of GlobalModel::create.
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
  std::map<net::Rank, std::int64_t> updates_;  // of the workers in use
};

}  // namespace mangrove::train
