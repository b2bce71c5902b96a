#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/codec/codec.h"

namespace mangrove::codec {

/// What a receiver has of a vector that the sender changes again and again, kept on both sides: each message is the
/// encoded difference between the vector and this copy, and moves both copies alike. So what a message leaves out is in
/// the next difference, without any error feedback.
/// source  Tang et al., DoubleSqueeze, 2019 (from a server to its workers); Koloskova et al., Decentralized stochastic
///         optimization and gossip algorithms with compressed communication, 2019 (CHOCO-SGD, between peers).
/// codec: a contraction (see CodecRow). threads: one at a time.
class DifferenceCopy {
 public:
  explicit DifferenceCopy(std::span<const float> values) : values_(values.begin(), values.end()) {}

  std::span<const float> values() const { return values_; }

  /// The sender's side: a message that brings the copy nearer to `target`, which has as many elements.
  std::string encode(Codec& codec, std::span<const float> target);
  /// The receiver's side. Never trusts the message. errors: data_loss; the copy stays as it was.
  Status decode(Codec& codec, std::string_view message);

 private:
  std::vector<float> values_;
};

}  // namespace mangrove::codec
