#pragma once

#include <memory>
#include <vector>

#include "mangrove/train/data_parallel/all_reduce_worker.h"
#include "mangrove/train/data_parallel/exchange.h"
#include "mangrove/train/data_parallel/trainee.h"

namespace mangrove::train {

/// The end of a step, once all gradients are on their way: waits for the sums, and answers with this worker's share of
/// them. Answers nothing if the reduction failed. errors: those of AllReduceWorker::finish.
Status finish_reduction(Trainee& trainee, AllReduceWorker& worker, const Work& work, const learn::BatchStats& stats);

/// Workers add up their gradients among themselves while they compute them. Each worker then makes the update on its
/// own copy of the values. AllReduceWorker explains how.
class AllReduceExchange final : public Exchange {
 public:
  /// graph: the job's model. errors: those of AllReduceWorker::create and use.
  static Result<std::unique_ptr<Exchange>> create(Trainee& trainee, const Graph& graph);

  bool accept(const Work& work, std::string_view body) override;
  Status train(const Work& work, std::string_view body) override;

 private:
  AllReduceExchange(Trainee& trainee, std::unique_ptr<AllReduceWorker> worker);
  learn::BatchStats compute(const Work& work, const Trainee::Step& step);

  Trainee& trainee_;
  const std::unique_ptr<AllReduceWorker> worker_;
  std::vector<float> sums_;  // gradient and states, while they are summed
};

}  // namespace mangrove::train
