#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/infer/messages.pb.h"

namespace mangrove::infer {

/// The least Command::remaining_s; 0 would mean that there is no deadline.
inline constexpr Seconds kLeastRemaining = 1e-6;

/// The work that streams through the stages: it makes micro-batches and takes their answers. A micro-batch counts once,
/// however often it is sent and answered. threads: one at a time.
class StreamWork {
 public:
  virtual ~StreamWork() = default;

  /// The pipeline is ready.
  virtual void begin(Instant now) = 0;
  /// The next micro-batch as a FEED command without its generation. Those that must be sent again come first. Nothing:
  /// the window is full, or there is no work.
  virtual std::optional<Command> next(Instant now) = 0;

  /// ignored: the answer makes no sense. repeated: the micro-batch was answered before.
  enum class Taken { ignored, repeated, accepted };
  virtual Taken take(const Predictions& predictions, Instant now) = 0;
  /// What take() would say of the answer.
  virtual Taken look(const Predictions& predictions, Instant now) const = 0;
  /// The FEED command of a micro-batch in flight once more, for another node. Its time limit of InFlight begins anew,
  /// and its deadline does not. REQUIRES: it is in flight.
  virtual Command copy(std::uint64_t micro_batch, Instant now) = 0;
  /// again: the answer is forgotten, and the micro-batch is sent again. is_on_its_way: there is no answer yet.
  /// too_late: the answer has been told already.
  enum class Redo { again, is_on_its_way, too_late };
  /// Forgets the answer to a micro-batch that was sent, if it has one.
  virtual Redo redo(std::uint64_t micro_batch) = 0;

  /// The most micro-batches in flight from now on.
  virtual void set_window(std::size_t window) = 0;
  /// See InFlight. A micro-batch that must be sent again is not in flight until it is sent.
  virtual void resend_all() = 0;
  virtual std::vector<std::uint64_t> resend_overdue(Instant now, Seconds timeout) = 0;

  virtual bool is_done() const = 0;
  /// Whether any micro-batch is in flight.
  virtual bool is_waiting() const = 0;
  /// Samples still to come. Nothing: not known.
  virtual std::optional<std::int64_t> left() const = 0;
};

}  // namespace mangrove::infer
