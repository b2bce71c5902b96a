#include "tests/engine/operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> constants() {
  const auto scalar = [](float value) { return constant(Tensor::of<float>(Shape(), {value})); };
  return {
      {"Constant", "Constant", {}, {{"value_floats", std::vector<float>{1, 2, 3}}}, 1, false},
      {"ConstantOfShape_batch", "ConstantOfShape", {integers({-1, 3})}, {}, 1, false},
      {"Range", "Range", {scalar(1), scalar(-2), scalar(-0.7f)}, {}, 1, false},
      {"Shape", "Shape", {fed({kBatch, 3})}, {}, 1, false},
      {"Size", "Size", {fed({kBatch, 3})}, {}, 1, false},
  };
}

}  // namespace mangrove::samples
