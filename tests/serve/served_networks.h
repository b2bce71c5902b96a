#pragma once

#include <string>
#include <vector>

#include "mangrove/graph/graph.h"
#include "mangrove/serve/engine_model.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/model_options.h"

namespace mangrove::serve {

/// a, b [N, 3] f32 -> sum, product [N, 3] f32.
Graph two_inputs();
/// x of this type and shape -> y, the same.
Graph identity(DType dtype, const Shape& shape);
/// x [N, 3] f32 -> y [3] f32, the mean of the batch.
Graph mean_of_batch();
/// x [N, 3], scale [3] f32 -> y [N, 3].
Graph scaled();
/// x [N, inputs] f32 -> y [N, outputs], with zeros as weights.
Graph dense(std::int64_t inputs, std::int64_t outputs);

/// x [N, 8] f32 -> y [N, 5] f32 by two layers of whole numbers, whose sums are exact in any order: so a sample gives
/// the same bits in every batch.
Graph whole_numbers();

/// The graph as model 'm', with portable kernels.
std::shared_ptr<EngineModel> load(const Graph& graph, ModelOptions options = {});

InferenceRequest request_of(std::vector<NamedTensor> inputs);
/// For whole_numbers(): so many samples that differ with the seed.
InferenceRequest whole_number_request(std::int64_t samples, std::uint64_t seed);

/// Asks, and waits for the answer.
Result<InferenceResponse> ask(Model& model, InferenceRequest request);

/// Whether type, shape and all bytes are the same.
bool same(const Tensor& a, const Tensor& b);

}  // namespace mangrove::serve
