#pragma once

#include <memory>
#include <stop_token>

#include "mangrove/base/clock.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/protocol/traffic.h"

namespace mangrove::serve {

/// Passes a request on to a model, and counts what becomes of it and how long it took since `came`.
void ask(Model& model, InferenceRequest request, Instant came, const std::shared_ptr<Traffic>& traffic,
         AnswerSink answer);

/// The same, and waits for the answer: no longer than the request's deadline, and not after a stop is requested.
/// errors: those of Model::infer(); unavailable (stopped).
Result<InferenceResponse> ask_and_wait(const std::shared_ptr<Model>& model, InferenceRequest request, Instant came,
                                       const std::shared_ptr<Traffic>& traffic, const std::stop_token& stop);

}  // namespace mangrove::serve
