#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/serve/model.h"

namespace mangrove::serve {

// What servers of the Open Inference Protocol answer, which may be anything: bodies are bounded by who receives them,
// JSON has at most 32 lists and objects in one another, and sizes are compared with the bytes that have come before
// memory is taken. errors of all of these: data_loss (says what is wrong with the answer).

/// What a server says of itself.
struct ServerDescription {
  std::string name, version;
  std::vector<std::string> extensions;

  bool offers(std::string_view extension) const;
};
Result<ServerDescription> read_server(std::string_view body);

/// Inputs and outputs of a model, and its newest version.
Result<ModelMetadata> read_metadata(std::string_view body);

/// The parameters of a model configuration: what the network's file says of itself.
Result<std::map<std::string, std::string>> read_properties(std::string_view body);

/// The names of the models in an index, each once.
Result<std::vector<std::string>> read_models(std::string_view body, bool only_ready);

/// The outputs of a model for so many samples. Each must have the name, type and shape that the metadata say.
/// json_length: the header Inference-Header-Content-Length; nothing: all of the body is JSON.
Result<InferenceResponse> read_outputs(const ModelMetadata& model, std::int64_t samples, std::string_view body,
                                       const std::optional<std::string>& json_length);

/// The message of {"error": "..."}, cut to a line; without one, the beginning of the body.
std::string read_error(std::string_view body);

}  // namespace mangrove::serve
