#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mangrove/serve/model.h"
#include "mangrove/serve/model_repository.h"

namespace mangrove::serve {

// What clients may know, as the REST of the Open Inference Protocol and its extensions write it.

nlohmann::ordered_json server_json(const std::string& version);
nlohmann::ordered_json metadata_json(const ModelMetadata& model, const std::vector<std::string>& versions);
/// The model configuration, as Triton's extension has it.
nlohmann::ordered_json configuration_json(const ModelMetadata& model);
nlohmann::ordered_json statistics_json(const std::vector<std::shared_ptr<Model>>& models);
/// The `count` most probable classes of an answer, the best first. errors: internal (not one output of classes).
Result<nlohmann::ordered_json> classification_json(const ModelMetadata& model, const InferenceResponse& answer,
                                                   std::size_t count);
/// only_ready: leaves out the models that are not.
nlohmann::ordered_json index_json(const std::vector<IndexEntry>& index, bool only_ready);

}  // namespace mangrove::serve
