#pragma once

#include "mangrove/codec/error_feedback.h"

namespace mangrove::codec {

struct MomentumOptions {
  float momentum = 0.9f;  // in [0, 1)
  /// The largest L2 norm of a gradient of this sender before it is added; 0: any. With P senders, each uses the limit
  /// of the whole divided by √P.
  float clip_norm = 0;
  /// The velocity of an element begins at zero again after it was sent. Not for codecs that send every element each
  /// time.
  bool masks = true;
};

/// A sender's side of a sparsifying codec that applies momentum before it sends; the optimizer must have none. Each
/// gradient g changes the sender's own velocity, u = momentum · u + g. Velocities are summed until they are sent, v = v
/// + u. If momentum were applied after the exchange, an element that is sent late would lack the momentum of the time
/// that it waited. When an element is sent, its u and v become zero (momentum factor masking), so old gradients do not
/// act twice.
/// memory  Three times the vector, on the encoding side.
/// source  Lin et al., Deep gradient compression, 2018, sections 3.1 to 3.3 and algorithm 4.
class MomentumCorrection : public Codec {
 public:
  /// elements: the length of the vector.
  MomentumCorrection(std::unique_ptr<Codec> codec, const MomentumOptions& options, std::size_t elements);

  std::string encode(std::span<const float> gradient) override;
  Status decode(std::string_view message, std::span<float> values) override {
    return feedback_.decode(message, values);
  }
  void set_fraction(double fraction) override { feedback_.set_fraction(fraction); }
  void told_loss(double loss) override { feedback_.told_loss(loss); }

  /// Uses this codec from the next message on. It also gets what earlier messages have left out.
  void use(std::unique_ptr<Codec> codec, bool masks) {
    feedback_.use(std::move(codec));
    options_.masks = masks;
  }

  std::span<const float> velocity() const { return velocity_; }                // u
  std::span<const float> accumulated() const { return feedback_.residual(); }  // v

 private:
  MomentumOptions options_;
  const std::size_t elements_;
  ErrorFeedback feedback_;  // v: what was not sent, plus u
  std::vector<float> velocity_;
};

}  // namespace mangrove::codec
