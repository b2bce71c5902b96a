#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/serve/model.h"

namespace mangrove::serve {

/// Which outputs go behind the JSON of an answer, as bytes.
struct BinaryOutputs {
  bool all = false;  // but for those of which `chosen` says otherwise
  std::vector<std::pair<std::string, bool>> chosen;

  bool is_binary(const std::string& output) const;
};

/// What a body of REST asks for.
struct JsonRequest {
  InferenceRequest request;
  BinaryOutputs binary;
};

/// Reads the body of POST .../infer.
/// body         JSON; with json_bytes, behind it the bytes of those inputs that have the parameter binary_data_size, in
///              their order (Triton's extension binary_tensor_data)
/// json_bytes   what the header Inference-Header-Content-Length says; nothing: there is none
/// now          when the request came: its `timeout` counts from then
/// Memory: the bytes of the tensors, and 8 bytes for each element in JSON, which has 2 bytes or more there.
/// errors: invalid_argument (no JSON; a key is missing, has another type or comes twice; sizes do not fit; names the
/// input), unimplemented (types and parameters that are not served).
Result<JsonRequest> parse_json_request(std::string_view body, std::optional<std::size_t> json_bytes, Instant now);

}  // namespace mangrove::serve
