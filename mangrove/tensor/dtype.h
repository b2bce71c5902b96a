#pragma once

#include <cstddef>
#include <cstdint>

namespace mangrove {

enum class DType : std::uint8_t { f32, f64, i32, i64, u8, i8, boolean };

/// Bytes of one element.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::u8:
    case DType::i8:
    case DType::boolean:
      return 1;
  }
  return 0;
}

/// "f32", "i64", ...
const char* dtype_name(DType dtype);

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};
template <class T>
constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace mangrove
