#include "mangrove/zoo/zoo.h"

#include <algorithm>
#include <new>

#include "mangrove/base/nearest.h"
#include "mangrove/zoo/families.h"

namespace mangrove::zoo {
namespace {

// Sorted by name.
constexpr ModelEntry kModels[] = {
    {.name = "lenet",
     .summary = "LeNet-5, 20-50-500 variant with tanh (LeCun et al., Proc. IEEE 1998)",
     .build = &build_lenet},
    {.name = "mlp",
     .summary = "multi-layer perceptron, 128-64 ReLU units (MXNet's MNIST example)",
     .build = &build_mlp},
};

// Keeps the products of sizes in every builder far from overflow.
constexpr std::int64_t kMostPerDimension = 1 << 14;

Status check(const ModelOptions& options) {
  const Shape& sample = options.sample_shape;
  const auto fits = [](std::int64_t n) { return n >= 1 && n <= kMostPerDimension; };
  if (sample.rank() != 3 || !std::all_of(sample.begin(), sample.end(), fits)) {
    return make_error(Code::invalid_argument, "samples have shape " + to_string(sample) +
                                                  ", expected [channels, height, width], each from 1 to " +
                                                  std::to_string(kMostPerDimension));
  }
  if (!fits(options.classes)) {
    return make_error(Code::invalid_argument, std::to_string(options.classes) + " classes, expected from 1 to " +
                                                  std::to_string(kMostPerDimension));
  }
  return {};
}

}  // namespace

std::span<const ModelEntry> models() {
  return kModels;
}

Result<Graph> build_model(std::string_view name, const ModelOptions& options) {
  const auto entry = std::find_if(std::begin(kModels), std::end(kModels),
                                  [name](const ModelEntry& candidate) { return candidate.name == name; });
  if (entry == std::end(kModels)) {
    std::vector<std::string> known;
    for (const ModelEntry& candidate : kModels) known.emplace_back(candidate.name);
    return make_error(Code::not_found, "no model is called '" + std::string(name) + "'" + suggestion(name, known));
  }
  const std::string where = "model '" + std::string(name) + "'";
  MG_RETURN_IF_ERROR(check(options).context(where));
  try {
    return entry->build(options).context(where);
  } catch (const std::bad_alloc&) {
    return make_error(Code::resource_exhausted,
                      where + " for samples " + to_string(options.sample_shape) + " does not fit into memory");
  }
}

}  // namespace mangrove::zoo
