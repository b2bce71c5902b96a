#include "mangrove/codec/error_feedback.h"

#include "mangrove/base/check.h"
#include "mangrove/codec/scale.h"

namespace mangrove::codec {

ErrorFeedback::ErrorFeedback(std::unique_ptr<Codec> codec, std::size_t elements)
    : codec_(std::move(codec)), elements_(elements) {}

std::string ErrorFeedback::encode(std::span<const float> values) {
  MG_CHECK(values.size() == elements_);
  residual_.resize(elements_);
  sent_.resize(elements_);
  for (std::size_t i = 0; i < values.size(); ++i) residual_[i] += values[i];
  std::string message = codec_->encode(residual_);
  MG_CHECK(codec_->decode(message, sent_).ok());
  for (std::size_t i = 0; i < values.size(); ++i) residual_[i] = finite_or_zero(residual_[i] - sent_[i]);
  return message;
}

}  // namespace mangrove::codec
