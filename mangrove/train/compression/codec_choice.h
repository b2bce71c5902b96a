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

/// The size and time of an update with one codec, measured on this device.
struct CodecTrial {
  std::string codec;
  std::size_t bytes = 0;           // length of a message
  Seconds encode = 0, decode = 0;  // for one message
};

/// What an exchange of plain updates and plain values costs a worker and its server.
struct PlainExchange {
  Seconds step = 0;             // from one answer to the next
  Seconds wire = 0;             // time on the wire of a measured exchange, with any codec, in both directions
  std::size_t wire_bytes = 0;   // bytes of that exchange
  std::size_t float_bytes = 0;  // bytes of a plain update
  std::size_t workers = 1;      // the server decodes their updates one after the other

  /// The rate of the wire. Infinite if the wire took no time that could be measured.
  double bytes_per_s() const;
  /// Time on the wire for one message of this length in each direction.
  Seconds both_ways(std::size_t bytes) const { return 2 * static_cast<double>(bytes) / bytes_per_s(); }
};

struct CodecChoice {
  std::string codec;       // "none": floats as they are
  Seconds exchange = 0;    // predicted; if it returns to an earlier codec, measured
  Seconds plain = 0;       // the same for plain floats
  double bytes_per_s = 0;  // rate of the link; 0: too fast to be measured
  std::string why = {};    // an explanation for a person, with these numbers
};

/// The codec with the shortest predicted exchange. An exchange with messages of b bytes over a link of r bytes a second
/// takes 2 b / r on the wire. Besides, it takes the time to encode two messages and to decode W + 3: the server decodes
/// the updates of W workers, each of the two senders decodes its own message to know what it left out, and the worker
/// decodes the values. Plain floats are chosen if no codec saves at least three hundredths of a step.
CodecChoice choose_codec(std::span<const CodecTrial> trials, const PlainExchange& plain);

/// A worker's side of `codec: auto`.
///
/// It measures the link with small messages first. If these do not tell the rate of the link, it also measures with
/// plain floats; on a slow link these would take as long as many small messages. Then it tries all candidates on an
/// update of its own and takes the codec that is predicted to be the fastest. If the next steps take over three
/// hundredths longer than with a codec that was measured before, it returns to the fastest of those for good. threads:
/// one at a time.
class CodecChooser {
 public:
  /// The codecs that it chooses from, "none" first. All of them fit both directions.
  static std::span<const std::string_view> candidates();
  static bool is_candidate(std::string_view codec);
  /// The codec that everyone begins with: its messages are small and quick to make.
  static std::string_view first();

  /// stream: that of this worker's updates.
  CodecChooser(Clock& clock, codec::Stream stream, std::size_t workers);

  /// To be called before an update is sent. wire: the time on the wire of the last exchange; wire_bytes: its bytes.
  /// Returns the decision, if there is one.
  std::optional<CodecChoice> next(std::span<const float> update, Seconds wire, std::size_t wire_bytes);
  /// The codec for this update.
  const std::string& codec() const { return codec_; }

 private:
  enum class Phase { small, plain, trying, settled };
  /// Medians over several steps with one codec.
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
  Measured best_;  // the fastest so far
  CodecChoice choice_;
};

}  // namespace mangrove::train
