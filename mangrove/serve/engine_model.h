#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"
#include "mangrove/graph/graph.h"
#include "mangrove/serve/batch_queue.h"
#include "mangrove/serve/batched_network.h"
#include "mangrove/serve/loaded_model.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/model_options.h"
#include "mangrove/serve/request_intake.h"
#include "mangrove/serve/stepped_network.h"

namespace mangrove::serve {

/// A network that the engine of this process runs. Requests wait in a bounded queue, and those that wait at the same
/// time are computed in one batch (dynamic batching). A request waits for others no longer than options.max_wait, and
/// than half of the time to its deadline. One with more samples than a batch is computed in parts. A request whose
/// deadline passes before its last sample is taken is not computed.
///
/// A network with early exits also answers exit by exit, one sample at a time, beside the batches.
///
/// Answers come from the threads of the instances, or from the one that calls infer(). A sink must not call close(),
/// and not destroy the model.
/// source: Crankshaw et al., Clipper, NSDI 2017, section 4.3 (adaptive batching: maximum size and delayed batching).
/// threads: any thread may call any method.
class EngineModel final : public LoadedModel {
 public:
  /// Takes its own copy of the weights and keeps nothing of the graph's.
  /// errors: those of class_labels and BatchedNetwork::create.
  static Result<std::shared_ptr<EngineModel>> load(const Graph& graph, const std::string& name,
                                                   const std::string& version, const ModelOptions& options);
  /// Closes.
  ~EngineModel() override;

  const ModelMetadata& metadata() const override { return intake_.metadata(); }
  void infer(InferenceRequest request, AnswerSink answer) override { intake_.submit(request, std::move(answer)); }
  Result<std::unique_ptr<ExitRun>> begin_exits(const InferenceRequest& request, const std::string& thresholds) override;
  ModelStatistics statistics() const override { return intake_.statistics(); }
  bool is_ready() const override { return true; }
  std::string problem() const override { return ""; }

  /// Of weights and activations.
  Bytes memory() const { return network_->memory(); }
  /// The batches that the network is compiled for, the smallest first.
  std::vector<std::int64_t> batch_sizes() const { return network_->sizes(); }

  /// Answers the requests that wait, refuses others as `unavailable`, and ends the threads before it returns.
  void close() override;

 private:
  EngineModel(const ModelMetadata& metadata, std::unique_ptr<BatchedNetwork> network,
              Result<std::shared_ptr<SteppedNetwork>> exits, const ModelOptions& options);
  void compute_batches(std::size_t instance);
  void compute(std::size_t instance, const std::vector<BatchPart>& parts);

  const SteadyClock clock_;
  const std::unique_ptr<BatchedNetwork> network_;
  const Result<std::shared_ptr<SteppedNetwork>> exits_;  // the error says why there is none
  std::atomic<bool> is_closed_ = false;
  RequestIntake intake_;
  Mutex closing_;
  std::vector<std::jthread> instances_ MG_GUARDED_BY(closing_);
};

}  // namespace mangrove::serve
