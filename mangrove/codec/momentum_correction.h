#pragma once

#include "mangrove/codec/error_feedback.h"

namespace mangrove::codec {

struct MomentumOptions {
  float momentum = 0.9f;  // in [0, 1)
  /// L2 norm of a gradient of this sender, before it is added up; 0: any. Of P senders each has that of the whole / √P.
  float clip_norm = 0;
  /// Velocities begin anew where they were sent. Not for codecs that send every element each time.
  bool masks = true;
};

/// A sender's side of a sparsifying codec that brings momentum along (the optimizer must have none): each gradient g
/// makes the sender's own velocity u = momentum · u + g, and velocities add up until they are sent, v = v + u. With
/// momentum after the exchange, elements that come late would miss that of the time they waited. Where an element was
/// sent, u and v begin anew (momentum factor masking), so that old gradients do not push twice.
/// memory  three times the vector, of who encodes.
/// source  Lin et al., Deep gradient compression, 2018, sections 3.1 to 3.3 and algorithm 4.
class MomentumCorrection : public Codec {
 public:
  /// elements: of the vector.
  MomentumCorrection(std::unique_ptr<Codec> codec, const MomentumOptions& options, std::size_t elements);

  std::string encode(std::span<const float> gradient) override;
  Status decode(std::string_view message, std::span<float> values) override {
    return feedback_.decode(message, values);
  }
  void set_fraction(double fraction) override { feedback_.set_fraction(fraction); }
  void told_loss(double loss) override { feedback_.told_loss(loss); }

  /// From the next message on; what waits, waits for this one.
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
