#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/infer/messages.pb.h"

namespace mangrove::infer {

/// What streams through the stages: where micro-batches come from, and where their answers go. A micro-batch counts
/// once, however often it is sent and answered. threads: one at a time.
class StreamWork {
 public:
  virtual ~StreamWork() = default;

  /// The pipeline is there.
  virtual void begin(Instant now) = 0;
  /// The next micro-batch as a FEED command, but for its generation; those that are to be sent again come first.
  /// Nothing while the window is full, or there is none.
  virtual std::optional<Command> next(Instant now) = 0;

  enum class Taken { ignored, repeated, accepted };
  /// ignored: it makes no sense. repeated: it was answered before.
  virtual Taken take(const Predictions& predictions, Instant now) = 0;

  /// The most micro-batches in flight from now on.
  virtual void set_window(std::size_t window) = 0;
  virtual void resend_all() = 0;
  /// Those in flight for longer than `timeout` are to be sent again. Returns them: until then they are on no way.
  virtual std::vector<std::uint64_t> resend_overdue(Instant now, Seconds timeout) = 0;

  virtual bool is_done() const = 0;
  /// Whether something is in flight.
  virtual bool is_waiting() const = 0;
  /// Samples that are still to come, as far as is known.
  virtual std::optional<std::int64_t> left() const = 0;
};

}  // namespace mangrove::infer
