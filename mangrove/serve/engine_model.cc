#include "mangrove/serve/engine_model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "mangrove/serve/class_labels.h"
#include "mangrove/serve/model_metadata.h"

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
  return std::shared_ptr<EngineModel>(new EngineModel(metadata, std::move(network), options));
}

EngineModel::EngineModel(const ModelMetadata& metadata, std::unique_ptr<BatchedNetwork> network,
                         const ModelOptions& options)
    : network_(std::move(network)), intake_(metadata, intake_options(metadata, *network_, options)) {
  const MutexLock lock(closing_);
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.instances); ++i)
    instances_.emplace_back([this, i] { compute_batches(i); });
}

EngineModel::~EngineModel() {
  close();
}

void EngineModel::close() {
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
