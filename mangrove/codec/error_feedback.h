#pragma once

#include "mangrove/codec/codec.h"

namespace mangrove::codec {

/// A sender's side of a codec that is not unbiased: what a message leaves out is added to what the next one encodes, so
/// that nothing is lost, only late. Not for codecs that are unbiased: theirs is a vector too long, and what is left of
/// it grows.
/// memory  twice the vector, of who encodes.
/// source  Seide et al., 1-bit stochastic gradient descent, 2014; Karimireddy et al., Error feedback fixes SignSGD and
///         other gradient compression schemes, 2019.
class ErrorFeedback : public Codec {
 public:
  /// elements: of the vector.
  ErrorFeedback(std::unique_ptr<Codec> codec, std::size_t elements);

  std::string encode(std::span<const float> values) override;
  Status decode(std::string_view message, std::span<float> values) override { return codec_->decode(message, values); }
  void set_fraction(double fraction) override { codec_->set_fraction(fraction); }
  void told_loss(double loss) override { codec_->told_loss(loss); }

  /// From the next message on; what waits, waits for this one.
  void use(std::unique_ptr<Codec> codec) { codec_ = std::move(codec); }

  /// What the last message says, as who receives it decodes it.
  std::span<const float> sent() const { return sent_; }
  /// What is still to be sent. An element that is NaN or infinite, e.g. because it was too large for the codec, begins
  /// anew from zero.
  std::span<const float> residual() const { return residual_; }

 private:
  std::unique_ptr<Codec> codec_;
  const std::size_t elements_;
  std::vector<float> residual_, sent_;  // empty before the first message: a receiver has no use for them
};

}  // namespace mangrove::codec
