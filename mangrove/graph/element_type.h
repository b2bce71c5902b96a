#pragma once

#include "mangrove/tensor/dtype.h"

namespace mangrove {

constexpr bool is_floating(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64;
}

}  // namespace mangrove
