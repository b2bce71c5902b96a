#pragma once

#include "mangrove/codec/codec.h"

namespace mangrove::codec {

/// A sender's side of a biased codec. What one message leaves out is added to the values of the next one, so nothing is
/// lost; it only arrives later. Unbiased codecs must not have it: their messages are on average longer than the values,
/// and the rest would grow.
/// memory  Twice the vector, on the encoding side.
/// source  Seide et al., 1-bit stochastic gradient descent, 2014; Karimireddy et al., Error feedback fixes SignSGD and
///         other gradient compression schemes, 2019.
class ErrorFeedback : public Codec {
 public:
  /// elements: the length of the vector.
  ErrorFeedback(std::unique_ptr<Codec> codec, std::size_t elements);

  std::string encode(std::span<const float> values) override;
  Status decode(std::string_view message, std::span<float> values) override { return codec_->decode(message, values); }
  void set_fraction(double fraction) override { codec_->set_fraction(fraction); }
  void told_loss(double loss) override { codec_->told_loss(loss); }

  /// Uses this codec from the next message on. It also gets what earlier messages have left out.
  void use(std::unique_ptr<Codec> codec) { codec_ = std::move(codec); }

  /// The last message, as a receiver decodes it.
  std::span<const float> sent() const { return sent_; }
  /// The values still to be sent. An element that is NaN or infinite, e.g. because it was too large for the codec,
  /// becomes zero.
  std::span<const float> residual() const { return residual_; }

 private:
  std::unique_ptr<Codec> codec_;
  const std::size_t elements_;
  std::vector<float> residual_, sent_;  // empty before the first message: a receiver has no use for them
};

}  // namespace mangrove::codec
