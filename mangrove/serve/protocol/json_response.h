#pragma once

#include <cstddef>
#include <string>

#include "mangrove/serve/model.h"
#include "mangrove/serve/protocol/json_request.h"

namespace mangrove::serve {

/// The body of an answer to POST .../infer.
struct JsonResponse {
  std::string body;
  std::size_t json_bytes = 0;  // of the body; less than all: bytes of outputs are behind them
  bool is_binary = false;      // then json_bytes goes into the header Inference-Header-Content-Length
};

/// Writes an answer. id: the client's own; "": it gave none. A number that JSON does not have (infinite, or none)
/// becomes null.
JsonResponse write_json_response(const std::string& model, const std::string& id, const InferenceResponse& response,
                                 const BinaryOutputs& binary);

}  // namespace mangrove::serve
