#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mangrove/codec/reducible.h"
#include "mangrove/train/data_parallel/all_reduce_topology.h"

namespace mangrove::train {

/// A worker's side of sums of a range of the parameters, through a codec that is linear: what it makes of the values is
/// summed as floats, see codec::ReducibleCodec. With error feedback: what a sum has left out of this worker's values is
/// added to those of the next one. threads: one at a time.
class ReducedRange {
 public:
  ReducedRange(Range range, std::unique_ptr<codec::ReducibleCodec> codec)
      : range_(range), codec_(std::move(codec)), residual_(range.count) {}

  /// Of all parameters.
  Range range() const { return range_; }
  // As those of codec::ReducibleCodec.
  std::span<float> begin(std::span<const float> values);
  std::span<float> next() { return codec_->next(); }
  std::string message() const { return codec_->message(); }
  void keep();

 private:
  Range range_;
  std::unique_ptr<codec::ReducibleCodec> codec_;
  std::vector<float> residual_, given_;  // given: values and residual of this sum
};

}  // namespace mangrove::train
