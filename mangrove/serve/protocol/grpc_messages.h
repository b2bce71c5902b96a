#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/model_repository.h"
#include "mangrove/serve/open_inference.pb.h"

namespace mangrove::serve {

// Between the messages of the Open Inference Protocol and what they mean.

/// now: when the request came; its parameter `timeout` counts from then. errors: invalid_argument (sizes that do not
/// fit, contents in two places or in a field of another type; names the input), unimplemented (types and parameters
/// that are not served).
Result<InferenceRequest> request_of(const inference::ModelInferRequest& message, Instant now);
/// Tensors go into raw_output_contents.
void write_response(const InferenceResponse& response, const std::string& model, const std::string& id,
                    inference::ModelInferResponse& message);

void write_metadata(const ModelMetadata& model, const std::vector<std::string>& versions,
                    inference::ModelMetadataResponse& message);
void write_configuration(const ModelMetadata& model, inference::ModelConfig& message);
void write_statistics(const Model& model, inference::ModelStatistics& message);
void write_index(const std::vector<IndexEntry>& index, bool only_ready, inference::RepositoryIndexResponse& message);

}  // namespace mangrove::serve
