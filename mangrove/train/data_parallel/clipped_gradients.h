#pragma once

#include <memory>
#include <vector>

#include "mangrove/train/data_parallel/server_exchange.h"

namespace mangrove::train {

/// The update is the sum of the gradients of single samples, each cut down to a norm: see PrivateServer. There may be
/// more samples than fit a batch; they are loaded batch by batch.
class ClippedGradientsToServer final : public ServerExchange {
 public:
  /// graph: the job's model. errors: those of WorkerCodecs::create.
  static Result<std::unique_ptr<Exchange>> create(Trainee& trainee, const Graph& graph);

  Status train(const Work& work, std::string_view body) override;

 private:
  ClippedGradientsToServer(Trainee& trainee, std::unique_ptr<WorkerCodecs> codecs);
  void tell_leader(std::uint64_t round, std::int64_t done);

  const double clip_;
  Instant last_told_;
  std::vector<float> sum_;
};

}  // namespace mangrove::train
