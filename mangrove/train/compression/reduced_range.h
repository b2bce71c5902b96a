#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mangrove/codec/reducible.h"
#include "mangrove/train/data_parallel/all_reduce_topology.h"

namespace mangrove::train {

/// A worker's side of the sum of a range of the parameters, through a linear codec: the codec turns the values into
/// floats, and these floats are summed (see codec::ReducibleCodec). With error feedback: what a sum has left out of
/// this worker's values is added to the values of the next sum. threads: one at a time.
class ReducedRange {
 public:
  ReducedRange(Range range, std::unique_ptr<codec::ReducibleCodec> codec)
      : range_(range), codec_(std::move(codec)), residual_(range.count) {}

  /// The range within all parameters.
  Range range() const { return range_; }
  // See codec::ReducibleCodec.
  std::span<float> begin(std::span<const float> values);
  std::span<float> next() { return codec_->next(); }
  std::string message() const { return codec_->message(); }
  void keep();

 private:
  Range range_;
  std::unique_ptr<codec::ReducibleCodec> codec_;
  std::vector<float> residual_, given_;  // given_: values and residual of the current sum
};

}  // namespace mangrove::train
