#pragma once

#include <cstdint>

#include "mangrove/engine/simd/finish.h"

/// The loops around products of bytes, over elements that lie next to each other, in the vector instructions of the
/// processor that the program runs on. They may be called from any thread.
namespace mangrove::simd {

/// What turns sums of x w, one for each output channel, into sums of (x - x zero) (w - w zero), and those into floats.
/// Arrays have one number for each channel. Integers wrap around.
struct SumsFinish {
  const std::int32_t* weight_sums;  // of the weights that the sum has met
  std::int32_t x_zero = 0;
  const std::int32_t* weight_zeros = nullptr;  // null: all are 0
  const std::int32_t* source_sums = nullptr;   // with weight_zeros: of x - x zero over what the sum has met
  const float* scales = nullptr;               // null: the results stay integers, and what follows is not looked at
  const float* bias = nullptr;                 // null: none
  const float* residual = nullptr;             // null: none
  Bounds bounds = {};
};

struct ByteLoops {
  /// Lowers *low and raises *high to the least and the greatest of x.
  void (*widen_range)(std::int64_t count, const float* x, float* low, float* high);
  /// y = saturate(round(x / scale) + zero), halves to even.
  void (*quantize)(std::int64_t count, const float* x, float scale, std::uint8_t zero, std::uint8_t* y);
  /// The sum of x; at most 2^23 elements.
  std::int32_t (*sum)(std::int64_t count, const std::uint8_t* x);
  /// sums += x
  void (*add)(std::int64_t count, const std::uint8_t* x, std::int32_t* sums);
  /// i32 results, or floats min(max(sums scales + bias + residual, low), high), where NaN stays NaN. `result` may be
  /// `sums`.
  void (*finish)(std::int64_t count, const std::int32_t* sums, const SumsFinish& finish, void* result);
};

/// Returns the loops in the best instructions that this processor has.
const ByteLoops& byte_loops();

}  // namespace mangrove::simd
