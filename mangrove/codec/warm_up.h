#pragma once

#include "mangrove/codec/codec.h"

namespace mangrove::codec {

/// The fraction that message number `message` keeps, counted from 0. Over the first `warm_up` messages it falls by
/// equal factors in four stages of equal length. For a fraction of 0.001 they are 0.251, 0.063, 0.016 and 0.004.
/// source: Lin et al., Deep gradient compression, 2018, section 3.3: late gradients hurt a network that still changes
/// fast.
double warm_up_fraction(double fraction, std::int64_t message, std::int64_t warm_up);

/// A sender's side of a codec with a fraction. The fraction falls to its final value over the first messages, see
/// warm_up_fraction().
class WarmUp : public Codec {
 public:
  WarmUp(std::unique_ptr<Codec> codec, double fraction, std::int64_t warm_up)
      : codec_(std::move(codec)), fraction_(fraction), warm_up_(warm_up) {}

  std::string encode(std::span<const float> values) override {
    codec_->set_fraction(warm_up_fraction(fraction_, messages_++, warm_up_));
    return codec_->encode(values);
  }
  Status decode(std::string_view message, std::span<float> values) override { return codec_->decode(message, values); }
  void set_fraction(double fraction) override { fraction_ = fraction; }
  void told_loss(double loss) override { codec_->told_loss(loss); }

 private:
  std::unique_ptr<Codec> codec_;
  double fraction_;
  const std::int64_t warm_up_;
  std::int64_t messages_ = 0;
};

}  // namespace mangrove::codec
