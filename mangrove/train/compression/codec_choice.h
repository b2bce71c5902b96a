#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/codec/codec.h"

namespace mangrove::train {

/// What one codec makes of an update, measured on this device.
struct CodecTrial {
  std::string codec;
  std::size_t bytes = 0;           // of a message
  Seconds encode = 0, decode = 0;  // of one
};

/// What an exchange of updates and values as they are takes a worker and its server.
struct PlainExchange {
  Seconds step = 0;             // from one answer to the next
  Seconds wire = 0;             // of an exchange that was measured, in whatever codec; both directions
  std::size_t wire_bytes = 0;   // that they had
  std::size_t float_bytes = 0;  // of an update
  std::size_t workers = 1;      // whose updates the server decodes one after the other

  /// Infinite where the wire took no time that could be measured.
  double bytes_per_s() const;
  /// That the wire takes for messages of so many bytes, one in each direction.
  Seconds both_ways(std::size_t bytes) const { return 2 * static_cast<double>(bytes) / bytes_per_s(); }
};

struct CodecChoice {
  std::string codec;       // "none": floats as they are
  Seconds exchange = 0;    // predicted; where it goes back, what was measured on the wire
  Seconds plain = 0;       // the same with floats as they are
  double bytes_per_s = 0;  // of the link; 0: too fast to be measured
  std::string why = {};    // for a person, with these numbers
};

/// The codec with the shortest exchange: 2 b / r for messages of b bytes in both directions over a link of r bytes a
/// second, and the time to encode them twice and to decode them W + 3 times (the server those of W workers, each sender
/// its own to know what is left, the worker what comes). Floats as they are where that would not save three hundredths
/// of a step.
CodecChoice choose_codec(std::span<const CodecTrial> trials, const PlainExchange& plain);

/// A worker's side of `codec: auto`. It measures the link in small messages; where these leave it open, also in floats
/// as they are, which on a slow link would take as long as many small ones. Then it tries all candidates on an update
/// of its own, takes the one that should be fastest, and goes back for good to the fastest that was measured before if
/// the steps that follow take over three hundredths longer. threads: one at a time.
class CodecChooser {
 public:
  /// "none" first; all fit both directions.
  static std::span<const std::string_view> candidates();
  static bool is_candidate(std::string_view codec);
  /// With which everyone begins: small in bytes and quick to make.
  static std::string_view first();

  /// stream: of this worker's updates.
  CodecChooser(Clock& clock, codec::Stream stream, std::size_t workers);

  /// An update is about to be sent. wire: that the last exchange took, for so many bytes. Returns what was decided, if
  /// anything.
  std::optional<CodecChoice> next(std::span<const float> update, Seconds wire, std::size_t wire_bytes);
  /// Of this update.
  const std::string& codec() const { return codec_; }

 private:
  enum class Phase { small, plain, trying, settled };
  /// Medians over some steps with one codec.
  struct Measured {
    std::string codec;
    Seconds step = 0, wire = 0;
    std::size_t wire_bytes = 0;
  };
  void begin(Phase phase, const std::string& codec);
  std::optional<Measured> measure(Seconds wire, std::size_t wire_bytes);
  std::optional<CodecChoice> after_small(std::span<const float> update, const Measured& small);
  std::vector<CodecTrial> try_all(std::span<const float> update);
  PlainExchange plain_exchange(std::span<const float> update, const Measured& by) const;
  CodecChoice decide(std::span<const float> update, const PlainExchange& plain);
  std::optional<CodecChoice> judge(const Measured& chosen);

  Clock& clock_;
  const codec::Stream stream_;
  const std::size_t workers_;
  Phase phase_;
  std::string codec_;
  int skip_;  // steps that are not counted
  std::optional<Instant> last_;
  std::vector<Seconds> steps_, wires_;
  Measured best_;  // so far
  CodecChoice choice_;
};

}  // namespace mangrove::train
