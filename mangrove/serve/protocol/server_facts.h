#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mangrove/serve/model.h"

namespace mangrove::serve {

/// What the server says of itself.
inline constexpr const char* kServerTitle = "mangrove";
/// Extensions of the protocol that are served, by the names that Triton gives them.
inline constexpr std::array kExtensions = {"binary_tensor_data",  "statistics", "model_repository",
                                           "model_configuration", "parameters", "schedule_policy"};

/// "TYPE_FP32": the type's name in a model configuration.
std::string configuration_type(DType dtype);
/// The samples of one request that a model configuration says; 0 if the first dimension is no batch.
std::int64_t configuration_batch(const ModelMetadata& model);
/// The dimensions of a tensor in a model configuration: without the batch, if configuration_batch() says that there is
/// one.
std::vector<std::int64_t> configuration_dims(const ModelMetadata& model, const TensorMetadata& tensor);

}  // namespace mangrove::serve
