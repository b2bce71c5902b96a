#pragma once

#include <cstdint>
#include <utility>

#include "mangrove/tensor/dtype.h"

namespace mangrove::portable {

/// visit(T()) for the element type T, whatever it is.
template <class Visit>
void for_element_type(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::f32:
      return visit(float());
    case DType::f64:
      return visit(double());
    case DType::i32:
      return visit(std::int32_t());
    case DType::i64:
      return visit(std::int64_t());
    case DType::u8:
      return visit(std::uint8_t());
    case DType::i8:
      return visit(std::int8_t());
    case DType::boolean:
      return visit(bool());
  }
}

/// make(T()) for a T of the size of the element type: for what only moves elements.
template <class Make>
auto for_element_size(DType dtype, Make make) {
  switch (size_of(dtype)) {
    case 1:
      return make(std::uint8_t());
    case 4:
      return make(std::uint32_t());
    default:
      return make(std::uint64_t());
  }
}

}  // namespace mangrove::portable
