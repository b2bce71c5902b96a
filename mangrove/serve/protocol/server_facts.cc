#include "mangrove/serve/protocol/server_facts.h"

#include <algorithm>

#include "mangrove/serve/protocol/datatype.h"

namespace mangrove::serve {
namespace {

bool is_batch_first(const TensorMetadata& tensor) {
  return !tensor.shape.empty() && tensor.shape.front() == -1;
}

}  // namespace

std::string configuration_type(DType dtype) {
  return std::string("TYPE_") + datatype_name(dtype);
}

std::int64_t configuration_batch(const ModelMetadata& model) {
  const bool is_first = std::ranges::all_of(model.inputs, is_batch_first) && !model.inputs.empty();
  return is_first ? std::min<std::int64_t>(model.max_batch, INT32_MAX) : 0;
}

std::vector<std::int64_t> configuration_dims(const ModelMetadata& model, const TensorMetadata& tensor) {
  std::vector<std::int64_t> dims = tensor.shape;
  if (configuration_batch(model) > 0 && is_batch_first(tensor)) dims.erase(dims.begin());
  return dims;
}

}  // namespace mangrove::serve
