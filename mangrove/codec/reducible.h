#pragma once

#include <span>
#include <string>

namespace mangrove::codec {

/// One sender's side of a sum over several senders, for a linear codec. It turns the vectors of all senders into
/// floats. Adding these floats up, by all-reduce, gives the floats of the sum. So nothing has to be decoded and encoded
/// again on the way. All senders have the same text, layers and seed, and call the same methods in the same order.
/// Between two calls, the floats that the first call returned are replaced by their sums over all senders.
///
///   for (std::span<float> part = codec.begin(values); !part.empty(); part = codec.next()) all_reduce(part);
///   receiver.decode(codec.message(), sum);
///
/// threads: one at a time.
class ReducibleCodec {
 public:
  virtual ~ReducibleCodec() = default;

  /// The first floats to be summed, for this sender's values; valid until the next call of next(). values: as many as
  /// the stream has elements.
  virtual std::span<float> begin(std::span<const float> values) = 0;
  /// The next floats to be summed; empty: there are no more.
  virtual std::span<float> next() = 0;

  /// The sum as a message, which Codec::decode() of the same text reads. REQUIRES, here and below: next() has returned
  /// nothing.
  virtual std::string message() const = 0;
  /// This sender's part of the decoded sum: the parts of all senders add up to it. For error feedback.
  virtual void contribution(std::span<float> values) const = 0;
  /// All senders have this sum, and the next one may start from it. Without this call the next sum starts where this
  /// one started.
  virtual void keep() = 0;
};

}  // namespace mangrove::codec
