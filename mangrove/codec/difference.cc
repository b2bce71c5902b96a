#include "mangrove/codec/difference.h"

#include "mangrove/base/check.h"

namespace mangrove::codec {

std::string DifferenceCopy::encode(Codec& codec, std::span<const float> target) {
  MG_CHECK(target.size() == values_.size());
  std::vector<float> difference(values_.size());
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] = target[i] - values_[i];
  std::string message = codec.encode(difference);
  MG_CHECK(decode(codec, message).ok());
  return message;
}

Status DifferenceCopy::decode(Codec& codec, std::string_view message) {
  std::vector<float> difference(values_.size());
  MG_RETURN_IF_ERROR(codec.decode(message, difference));
  for (std::size_t i = 0; i < difference.size(); ++i) values_[i] += difference[i];
  return {};
}

}  // namespace mangrove::codec
