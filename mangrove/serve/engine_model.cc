#include "mangrove/serve/engine_model.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mangrove/base/log.h"
#include "mangrove/graph/exits.h"
#include "mangrove/serve/class_labels.h"
#include "mangrove/serve/exit_run.h"
#include "mangrove/serve/model_metadata.h"
#include "mangrove/serve/request_check.h"

namespace mangrove::serve {
namespace {

IntakeOptions intake_options(const ModelMetadata& metadata, const BatchedNetwork& network,
                             const ModelOptions& options) {
  const bool combines = metadata.max_batch > 0 && std::ranges::all_of(metadata.inputs, [](const TensorMetadata& input) {
                          return Shape(input.shape).is_symbolic();  // the same for all requests of a batch otherwise
                        });
  return {.queue = {.max_batch = network.max_batch(),
                    .combines = combines,
                    .max_requests = options.max_queue,
                    .max_bytes = options.queue_bytes},
          .max_wait = options.max_wait};
}

}  // namespace

Result<std::shared_ptr<EngineModel>> EngineModel::load(const Graph& graph, const std::string& name,
                                                       const std::string& version, const ModelOptions& options) {
  MG_TRY(std::vector<std::string> labels, class_labels(options.labels, graph).context("labels"));
  MG_TRY(auto network, BatchedNetwork::create(graph, options));
  const ModelMetadata metadata = metadata_of(graph, name, version, std::move(labels), network->max_batch());
  auto exits = SteppedNetwork::create(graph, options, network->memory());
  if (!exits.ok() && has_early_exits(graph))
    log_info("early exits not served one by one", {{"model", name}, {"why", exits.error().message}});
  return std::shared_ptr<EngineModel>(new EngineModel(metadata, std::move(network), std::move(exits), options));
}

EngineModel::EngineModel(const ModelMetadata& metadata, std::unique_ptr<BatchedNetwork> network,
                         Result<std::shared_ptr<SteppedNetwork>> exits, const ModelOptions& options)
    : network_(std::move(network)),
      exits_(std::move(exits)),
      intake_(metadata, intake_options(metadata, *network_, options)) {
  const MutexLock lock(closing_);
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.instances); ++i)
    instances_.emplace_back([this, i] { compute_batches(i); });
}

EngineModel::~EngineModel() {
  close();
}

Result<std::unique_ptr<ExitRun>> EngineModel::begin_exits(const InferenceRequest& request,
                                                          const std::string& thresholds) {
  const std::string where = "model '" + metadata().name + "'";
  if (is_closed_) return make_error(Code::unavailable, where + " is being unloaded");
  if (!exits_.ok()) return exits_.error().context(where);
  MG_TRY(const CheckedRequest checked, check_request(metadata(), request).context(where));
  if (checked.samples != 1)
    return make_error(Code::invalid_argument,
                      where + ": exits are answered for one sample, not for " + std::to_string(checked.samples));
  MG_TRY(auto numbers, (*exits_)->thresholds(thresholds).context(where));
  const std::span<const float> values = checked.inputs.front().as<float>();
  return std::unique_ptr<ExitRun>(std::make_unique<SteppedRun>(
      *exits_, std::vector<float>(values.begin(), values.end()), std::move(numbers), metadata().version,
      [this](const RequestTimes& times, bool has_left) { intake_.count_exits(times, has_left); }));
}

void EngineModel::close() {
  is_closed_ = true;
  intake_.close();
  const MutexLock lock(closing_);
  instances_.clear();  // joins
}

void EngineModel::compute_batches(std::size_t instance) {
  while (std::optional<std::vector<BatchPart>> parts = intake_.take())
    while (!parts->empty()) compute(instance, take_samples(*parts, network_->samples_at_once(samples_of(*parts))));
}

void EngineModel::compute(std::size_t instance, const std::vector<BatchPart>& parts) {
  const Instant began = clock_.now();
  const BatchTimes times = network_->run(instance, parts);
  intake_.count_batch(samples_of(parts), times);
  for (const BatchPart& part : parts) intake_.finish(part, began, times);
}

}  // namespace mangrove::serve
