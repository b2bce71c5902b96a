#pragma once

#include <cstdint>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/serve/model.h"

namespace mangrove::serve {

/// A request that fits the model.
struct CheckedRequest {
  std::vector<Tensor> inputs;        // in the model's order
  std::vector<std::size_t> outputs;  // positions in the model of those that are wanted, in the request's order
  std::int64_t samples = 1;
};

/// Compares a request with what the model takes. It may come from anybody: long names are cut in messages.
/// errors: invalid_argument: an input that is unknown, missing, given twice, of another type or shape, without samples
/// or with another number of them than the input before it; a boolean that is neither 0 nor 1; an output that is
/// unknown or wanted twice. The message names it, what was found and what was expected.
Result<CheckedRequest> check_request(const ModelMetadata& model, const InferenceRequest& request);

}  // namespace mangrove::serve
