#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"

/// Entropy coding: likely numbers cost few bits. Both sides have equal models of the probabilities, which learn from
/// every number, so no table is sent:
///
///   std::string message;                         RangeDecoder decoder(message);
///   RangeEncoder encoder(message);               IntegerModel gaps;
///   IntegerModel gaps;                           for (auto& gap : all) gap = gaps.read(decoder, largest_gap);
///   for (auto gap : all) gaps.write(encoder, gap);
///   encoder.finish();                            MG_RETURN_IF_ERROR(decoder.finish());
///
/// source: Martin, Range encoding: an algorithm for removing redundancy from a digitised message, 1979; the binary
/// adaptive coder is LZMA's (Pavlov), with the counting model of Mahoney, Adaptive weighing of context models, 2005.
namespace mangrove::codec {

/// The probability that a bit of some kind is 0. It is learnt from the coded bits: fast at first, later from about the
/// last thousand.
class BitModel {
 public:
  static constexpr int kBits = 22;  // bits of a probability: 2^22 stands for 1

  /// The share of `range` that stands for the bit 0. In a range of 2^24 or more, each of the two bits has a share above
  /// zero.
  std::uint32_t share_of_zero(std::uint32_t range) const {
    return static_cast<std::uint32_t>((std::uint64_t{range} * zero_) >> kBits);
  }

  void learn(bool bit) {
    const int slowness = static_cast<int>(std::bit_width(seen_ + 2)) - 1;
    zero_ = bit ? zero_ - (zero_ >> slowness) : zero_ + (((1u << kBits) - zero_) >> slowness);
    if (seen_ < kMostSeen) ++seen_;
  }

 private:
  static constexpr std::uint32_t kMostSeen = 1022;
  std::uint32_t zero_ = 1u << (kBits - 1);
  std::uint32_t seen_ = 0;
};

/// Appends to a message. finish() once, after the last number.
class RangeEncoder {
 public:
  explicit RangeEncoder(std::string& message) : message_(message) {}

  void write(BitModel& model, bool bit) {
    const std::uint32_t share = model.share_of_zero(range_);
    advance(bit ? share : 0);
    range_ = bit ? range_ - share : share;
    model.learn(bit);
    normalise();
  }

  /// Writes `count` bits, 16 at most, of a number whose values are all equally likely.
  void write_evenly(std::uint32_t bits, int count) {
    range_ >>= count;
    advance(bits * range_);
    normalise();
  }

  void finish();

 private:
  void advance(std::uint32_t amount) {
    low_ += amount;
    if (low_ < amount) carry();
  }

  void carry();

  void normalise() {
    while (range_ < 1u << 24) {
      message_.push_back(static_cast<char>(low_ >> 24));
      low_ <<= 8;
      range_ <<= 8;
    }
  }

  std::string& message_;
  std::uint32_t low_ = 0;  // the next four bytes of the message; less than range_ may still be added
  std::uint32_t range_ = ~std::uint32_t{0};
};

/// Reads what an encoder wrote, with equal models. Never trusts the message. If it ends early or is invalid, the reads
/// return any numbers within their bounds, and finish() reports it. Each read takes bounded time.
class RangeDecoder {
 public:
  explicit RangeDecoder(std::string_view message) : message_(message) {
    for (int i = 0; i < 4; ++i) code_ = code_ << 8 | next_byte();
  }

  bool read(BitModel& model) {
    const std::uint32_t share = model.share_of_zero(range_);
    const bool bit = code_ >= share;
    code_ -= bit ? share : 0;
    range_ = bit ? range_ - share : share;
    model.learn(bit);
    normalise();
    return bit;
  }

  /// `count` bits, 16 at most.
  std::uint32_t read_evenly(int count);

  /// The caller has read an impossible number. finish() will report it.
  void fail() { failed_ = true; }
  bool failed() const { return failed_; }

  /// To be called after the last read. errors: data_loss (the message is shorter or longer than what was read, or no
  /// encoder ends in this way). This finds most damage, but a changed message may be the valid message of other
  /// numbers: it is no checksum.
  Status finish() const;

 private:
  std::uint8_t next_byte() {
    if (read_ < message_.size()) return static_cast<std::uint8_t>(message_[read_++]);
    failed_ = true;
    return 0;
  }

  void normalise() {
    while (range_ < 1u << 24) {
      code_ = code_ << 8 | next_byte();
      range_ <<= 8;
    }
  }

  std::string_view message_;
  std::size_t read_ = 0;
  std::uint32_t code_ = 0;  // the encoder's final low minus its low at this number
  std::uint32_t range_ = ~std::uint32_t{0};
  bool failed_ = false;
};

/// A model for whole numbers among which small ones, or ones of about one size, are likely: levels, or gaps between
/// indices. It learns a probability for each of 0 to 14. Of larger numbers it learns the size and the three topmost
/// bits.
/// source: Elias, Universal codeword sets and representations of the integers, 1975 (gamma code), here with learnt
/// bits.
class IntegerModel {
 public:
  void write(RangeEncoder& encoder, std::uint32_t value);

  /// A number of 0 .. most. A larger one makes the decoder fail, and 0 is returned.
  std::uint32_t read(RangeDecoder& decoder, std::uint32_t most);

 private:
  static constexpr int kLearntBits = 3;
  std::array<BitModel, 33> is_longer_;  // [i]: value + 1 has more than i bits behind its first
  std::array<std::array<BitModel, 1 << kLearntBits>, 33> next_bit_;  // [number of bits][a 1 and the bits known so far]
};

}  // namespace mangrove::codec
