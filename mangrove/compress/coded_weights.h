#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/tensor/tensor.h"

namespace mangrove::compress {

/// The weights of one parameter in as few bytes as their zeros and repeated values allow.
struct CodedWeights {
  std::string message;
  std::int64_t kept = 0;    // weights other than zero
  std::int64_t values = 0;  // of the codebook that they share; 0: each has a value of its own
};

/// Codes f32 weights without loss. Whether a weight is zero costs a learnt bit, whose probability depends on how many
/// of the weights above it and to its left are zero: images have edges that no neuron looks at. Behind it comes, where
/// at most 4,096 values repeat, the number of its value in a codebook, by a learnt tree of bits; else its sign and
/// exponent by such a tree, and its mantissa as it is.
/// cost: one learnt bit a weight, and some more for each that is kept.
/// source: Han, Mao & Dally, Deep Compression, ICLR 2016, sections 3 and 4. Not as there: a range coder that learns
/// takes the place of gaps and Huffman codes, so no table is stored and a bit may cost less than a bit.
CodedWeights encode_weights(const Tensor& weights);

/// What was coded, bit for bit. Memory: the weights, and a number for each column of them; both are taken only where
/// the message is long enough for so many weights (32,768 a byte).
/// errors: data_loss (truncated, corrupt, or too short for the shape).
Result<Tensor> decode_weights(std::string_view message, const Shape& shape);

}  // namespace mangrove::compress
