#pragma once

#include <cstdint>

#include "mangrove/tensor/tensor.h"

namespace mangrove::cli {

/// Samples of a tensor: entries along its dimension `axis`.
struct SampleRange {
  std::int64_t first;
  std::int64_t count;
};

/// Copies from.count samples to `to`, from its sample `to_first` on. The tensors differ in that dimension only.
void copy_samples(const Tensor& source, SampleRange from, Tensor& target, std::int64_t to_first, std::size_t axis);

}  // namespace mangrove::cli
