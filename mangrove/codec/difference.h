#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/codec/codec.h"

namespace mangrove::codec {

/// A receiver's copy of a vector that the sender changes again and again. Both sides keep the copy. Each message is the
/// encoded difference between the vector and the copy, and both sides add the decoded message to their copies. So what
/// one message leaves out is part of the next difference, without error feedback.
///
/// cost    A message has as many bytes as the codec makes of n floats. Each side keeps n floats.
/// right   The codec is a contraction (see CodecRow): what is left of a difference is shorter than the difference. If
///         the vector stays, the copies come to it.
/// source  Tang et al., DoubleSqueeze, 2019 (from a server to its workers); Koloskova et al., Decentralized stochastic
///         optimization and gossip algorithms with compressed communication, 2019 (CHOCO-SGD, between peers).
/// threads  one at a time.
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
