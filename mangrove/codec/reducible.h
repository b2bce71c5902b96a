#pragma once

#include <span>
#include <string>

namespace mangrove::codec {

/// One sender's side of a sum over several senders, of a codec that is linear: what it makes of their vectors may be
/// added up as floats, by all-reduce, and gives what it makes of the sum. So nothing is encoded again on the way. All
/// senders have the same text, layers and seed, and call the same methods in the same order; between two calls the
/// floats that the first has returned become their sums over all senders.
///
///   for (std::span<float> part = codec.begin(values); !part.empty(); part = codec.next()) all_reduce(part);
///   receiver.decode(codec.message(), sum);
///
/// threads: one at a time.
class ReducibleCodec {
 public:
  virtual ~ReducibleCodec() = default;

  /// What is to be summed first, of this sender's values; valid until the next call of next(). values: as many as the
  /// stream has elements.
  virtual std::span<float> begin(std::span<const float> values) = 0;
  /// What is to be summed next; empty: nothing more.
  virtual std::span<float> next() = 0;

  /// The sum, as Codec::decode() of the same text takes it. REQUIRES: next() was empty, here and below.
  virtual std::string message() const = 0;
  /// What this sender has brought to the decoded sum: over all senders these add up to it. For error feedback.
  virtual void contribution(std::span<float> values) const = 0;
  /// All senders have this sum: the next one may go on from it. Without this it begins as this one did.
  virtual void keep() = 0;
};

}  // namespace mangrove::codec
