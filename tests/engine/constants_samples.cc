#include "tests/engine/operator_samples.h"

namespace mangrove::samples {

std::vector<OperatorSample> constants() {
  const auto scalar = [](float value) { return constant(Tensor::of<float>(Shape(), {value})); };
  return {
      {"Constant", "Constant", {}, {{"value_floats", std::vector<float>{1, 2, 3}}}, 1, false},
      {"ConstantOfShape_batch", "ConstantOfShape", {integers({-1, 3})}, {}, 1, false},
      {"EyeLike", "EyeLike", {fed({4, 3})}, {}, 1, false},
      {"EyeLike_below",
       "EyeLike",
       {fed_type(DType::boolean, {4, 4}, 0, 1)},
       {{"k", std::int64_t{-1}}, {"dtype", std::int64_t{1}}},
       1,
       false},
      {"EyeLike_outside", "EyeLike", {fed({3, 4})}, {{"k", std::int64_t{1} << 62}}, 1, false},
      {"NonZero", "NonZero", {constant(Tensor::of<float>({2, 3}, {0, 1, -2, 0, 0, 0.5f}))}, {}, 1, false},
      {"Range", "Range", {scalar(1), scalar(-2), scalar(-0.7f)}, {}, 1, false},
      {"Shape", "Shape", {fed({kBatch, 3})}, {}, 1, false},
      {"Size", "Size", {fed({kBatch, 3})}, {}, 1, false},
  };
}

}  // namespace mangrove::samples
