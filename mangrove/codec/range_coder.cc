#include "mangrove/codec/range_coder.h"

#include <algorithm>

namespace mangrove::codec {

void RangeEncoder::carry() {
  // never beyond this encoder's first byte: its number is below 1
  for (std::size_t i = message_.size(); i > 0; --i) {
    if (++message_[i - 1] != 0) return;
  }
}

void RangeEncoder::finish() {
  for (int shift = 24; shift >= 0; shift -= 8) message_.push_back(static_cast<char>(low_ >> shift));
}

std::uint32_t RangeDecoder::read_evenly(int count) {
  range_ >>= count;
  const std::uint32_t most = (1u << count) - 1, found = code_ / range_;
  if (found > most) fail();  // what an encoder leaves unused
  const std::uint32_t bits = std::min(found, most);
  code_ -= bits * range_;
  normalise();
  return bits;
}

Status RangeDecoder::finish() const {
  // an encoder ends with all of its low, so the difference is 0
  if (!failed_ && read_ == message_.size() && code_ == 0) return {};
  return make_error(Code::data_loss, "an encoded message of " + std::to_string(message_.size()) +
                                         " bytes is cut off, too long or corrupt");
}

void IntegerModel::write(RangeEncoder& encoder, std::uint32_t value) {
  const std::uint64_t number = std::uint64_t{value} + 1;
  const int length = static_cast<int>(std::bit_width(number)) - 1;
  for (int i = 0; i < length; ++i) encoder.write(is_longer_[static_cast<std::size_t>(i)], true);
  if (length < 32) encoder.write(is_longer_[static_cast<std::size_t>(length)], false);
  auto& models = next_bit_[static_cast<std::size_t>(length)];
  int left = length;
  for (std::size_t known = 1; left > 0 && length - left < kLearntBits;) {
    const bool bit = (number >> --left & 1) != 0;
    encoder.write(models[known], bit);
    known = 2 * known + (bit ? 1 : 0);
  }
  while (left > 0) {
    const int count = std::min(left, 16);
    left -= count;
    encoder.write_evenly(static_cast<std::uint32_t>(number >> left) & ((1u << count) - 1), count);
  }
}

std::uint32_t IntegerModel::read(RangeDecoder& decoder, std::uint32_t most) {
  int length = 0;
  while (length < 32 && decoder.read(is_longer_[static_cast<std::size_t>(length)])) ++length;
  auto& models = next_bit_[static_cast<std::size_t>(length)];
  std::uint64_t number = 1;
  int left = length;
  for (; left > 0 && length - left < kLearntBits; --left) {
    number = 2 * number + (decoder.read(models[static_cast<std::size_t>(number)]) ? 1 : 0);
  }
  while (left > 0) {
    const int count = std::min(left, 16);
    left -= count;
    number = number << count | decoder.read_evenly(count);
  }
  if (number - 1 <= most) return static_cast<std::uint32_t>(number - 1);
  decoder.fail();
  return 0;
}

}  // namespace mangrove::codec
