#include "mangrove/graph/dropout_ratio.h"

#include <string>

#include "mangrove/graph/movement_geometry.h"

namespace mangrove {

Result<double> dropout_ratio(const Node& node, std::span<const Tensor* const> constants) {
  if (!has_input(node, 1)) return 0.5;
  const Tensor* given = constant_at(constants, 1);
  if (given == nullptr) return make_error(Code::unimplemented, "ratio (input 1) must be a constant");
  const bool is_real = given->dtype() == DType::f32 || given->dtype() == DType::f64;
  if (!is_real || given->elements() != 1) {
    return make_error(Code::invalid_argument, std::string("ratio (input 1) is ") + dtype_name(given->dtype()) + " " +
                                                  to_string(given->shape()) + ", expected one real");
  }
  const double ratio =
      given->dtype() == DType::f64 ? given->as<double>()[0] : static_cast<double>(given->as<float>()[0]);
  if (ratio >= 0 && ratio < 1) return ratio;
  return make_error(Code::invalid_argument,
                    "ratio (input 1) is " + std::to_string(ratio) + ", expected at least 0 and less than 1");
}

}  // namespace mangrove
