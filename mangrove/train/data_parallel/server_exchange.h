#pragma once

#include <memory>
#include <optional>

#include "mangrove/train/compression/worker_codecs.h"
#include "mangrove/train/data_parallel/exchange.h"
#include "mangrove/train/data_parallel/local_steps.h"
#include "mangrove/train/data_parallel/trainee.h"

namespace mangrove::train {

/// Values come from a server, and updates go to it, through the job's codecs.
class ServerExchange : public Exchange {
 public:
  bool accept(const Work& work, std::string_view body) override;

 protected:
  ServerExchange(Trainee& trainee, std::unique_ptr<WorkerCodecs> codecs)
      : trainee_(trainee), codecs_(std::move(codecs)) {}

  const WorkerCodecs& codecs() const { return *codecs_; }
  /// Writes the values of the accepted work.
  void read_values(std::string_view body, std::span<float> values) const;
  /// Sends the update in the pool's flat values, and the states behind it. Without a codec the update is a sum over
  /// samples, with a codec the mean over them.
  void answer_update(const learn::BatchStats& stats, const Work& work);

  Trainee& trainee_;

 private:
  const std::unique_ptr<WorkerCodecs> codecs_;
};

/// The update is the gradient of one step.
class GradientsToServer final : public ServerExchange {
 public:
  /// graph: the job's model. errors: those of WorkerCodecs::create.
  static Result<std::unique_ptr<Exchange>> create(Trainee& trainee, const Graph& graph);

  bool accept(const Work& work, std::string_view body) override;
  Status train(const Work& work, std::string_view body) override;

 private:
  using ServerExchange::ServerExchange;
};

/// The update is the change of the values over several steps of the worker's own.
class ChangesToServer final : public ServerExchange {
 public:
  /// graph: the job's model. errors: those of WorkerCodecs::create.
  static Result<std::unique_ptr<Exchange>> create(Trainee& trainee, const Graph& graph);

  bool accept(const Work& work, std::string_view body) override;
  Status train(const Work& work, std::string_view body) override;

 private:
  ChangesToServer(Trainee& trainee, std::unique_ptr<WorkerCodecs> codecs);

  LocalSteps local_;
};

}  // namespace mangrove::train
