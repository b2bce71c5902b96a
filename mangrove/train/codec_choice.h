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

/// How a worker and its server exchange updates and values as they are.
struct PlainExchange {
  Seconds step = 0;             // from one answer to the next, median
  Seconds wire = 0;             // of that, messages on their way, both directions
  std::size_t wire_bytes = 0;   // that they had
  std::size_t float_bytes = 0;  // of an update
  std::size_t workers = 1;      // whose updates the server decodes one after the other

  /// Infinite where the wire took no time that could be measured.
  double bytes_per_s() const;
};

struct CodecChoice {
  std::string codec;         // "none": floats as they are
  Seconds exchange = 0;      // predicted
  Seconds plain = 0;         // the same with floats as they are
  double bytes_per_s = 0;    // of the link; 0: too fast to be measured
  std::string why = {};      // for a person, with these numbers
};

/// The codec with the shortest exchange: 2 b / r for messages of b bytes in both directions over a link of r bytes a
/// second, and the time to encode them twice and to decode them W + 3 times (the server those of W workers, each sender
/// its own to know what is left, the worker what comes). Floats as they are where that would not save three hundredths
/// of a step.
CodecChoice choose_codec(std::span<const CodecTrial> trials, const PlainExchange& plain);

/// A worker's side of `codec: auto`. It measures some steps without a codec, tries all candidates on an update of its
/// own, takes the one that should be fastest, and goes back for good if the steps that follow take over three hundredths
/// longer than the first ones did.
/// threads: one at a time.
class CodecChooser {
 public:
  /// "none" first; all fit both directions.
  static std::span<const std::string_view> candidates();
  static bool is_candidate(std::string_view codec);

  /// stream: of this worker's updates.
  CodecChooser(Clock& clock, codec::Stream stream, std::size_t workers);

  /// An update is about to be sent. wire: that the last exchange took, for so many bytes. Returns which codec is used
  /// from this update on, if that changes or was decided.
  std::optional<CodecChoice> next(std::span<const float> update, Seconds wire, std::size_t wire_bytes);

 private:
  enum class Phase { plain, trying, settled };
  bool measured(Seconds wire, std::size_t wire_bytes);
  std::vector<CodecTrial> try_all(std::span<const float> update);
  std::optional<CodecChoice> decide(std::span<const float> update);
  std::optional<CodecChoice> judge();

  Clock& clock_;
  const codec::Stream stream_;
  const std::size_t workers_;
  Phase phase_ = Phase::plain;
  int skip_;  // steps that are not counted
  std::optional<Instant> last_;
  std::vector<Seconds> steps_, wires_;
  std::size_t wire_bytes_ = 0;
  Seconds plain_step_ = 0;
  CodecChoice choice_;
};

}  // namespace mangrove::train
