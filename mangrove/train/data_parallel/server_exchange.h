#pragma once

#include <memory>
#include <optional>

#include "mangrove/train/compression/worker_codecs.h"
#include "mangrove/train/data_parallel/exchange.h"
#include "mangrove/train/data_parallel/local_steps.h"
#include "mangrove/train/data_parallel/trainee.h"

namespace mangrove::train {

/// Values come from a server, and updates go there, through the job's codecs.
class ServerExchange : public Exchange {
 public:
  bool accept(const Work& work, std::string_view body) override;

 protected:
  ServerExchange(Trainee& trainee, std::unique_ptr<WorkerCodecs> codecs)
      : trainee_(trainee), codecs_(std::move(codecs)) {}

  const WorkerCodecs& codecs() const { return *codecs_; }
  /// Those of the accepted work.
  void read_values(std::string_view body, std::span<float> values) const;
  /// The pool's flat values are the update, and the states behind it. An update is a sum over samples where it goes as
  /// it is, and the mean over them where it is encoded.
  void answer_update(const learn::BatchStats& stats, const Work& work);

  Trainee& trainee_;

 private:
  const std::unique_ptr<WorkerCodecs> codecs_;
};

/// Each update is the gradient of one step.
class GradientsToServer final : public ServerExchange {
 public:
  /// graph: the job's model. errors: those of WorkerCodecs::create.
  static Result<std::unique_ptr<Exchange>> create(Trainee& trainee, const Graph& graph);

  bool accept(const Work& work, std::string_view body) override;
  Status train(const Work& work, std::string_view body) override;

 private:
  using ServerExchange::ServerExchange;
};

/// Each update is what steps of the worker's own have changed.
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
