#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "mangrove/secure_aggregation/client.h"
#include "mangrove/train/compression/worker_codecs.h"
#include "mangrove/train/data_parallel/exchange.h"
#include "mangrove/train/data_parallel/local_steps.h"
#include "mangrove/train/data_parallel/secure_update.h"
#include "mangrove/train/data_parallel/trainee.h"
#include "mangrove/train/data_parallel/unsent_change.h"

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
  /// The server will base later values on these states.
  void keep_states(std::span<const float> states) { codecs_->keep_states(states); }

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
  Status sum(const Work& work, std::string_view body) override;

 private:
  /// An update that only goes into a secure sum.
  struct Kept {
    std::vector<float> values;  // change of the parameters, states
    learn::BatchStats stats;
    secure::Client client;
  };

  ChangesToServer(Trainee& trainee, std::unique_ptr<WorkerCodecs> codecs, const Graph& graph);
  void keep_update(const learn::BatchStats& stats, const Work& work);

  LocalSteps local_;
  const SecureUpdate layout_;
  std::optional<Kept> kept_;
  UnsentChange unsent_;  // of secure sums with a mask
};

}  // namespace mangrove::train
