#pragma once

#include <cstdint>

namespace mangrove {

/// The value of an IEEE 754 float16 (binary16), which f32 holds exactly.
float from_float16(std::uint16_t bits);
/// The value of a bfloat16, the upper half of an f32.
float from_bfloat16(std::uint16_t bits);

/// The value of the nearest float16, of two the even one; infinite from 65520 on. NaN stays NaN.
float rounded_to_float16(float value);
/// The value of the nearest bfloat16, of two the even one. NaN stays NaN.
float rounded_to_bfloat16(float value);

}  // namespace mangrove
