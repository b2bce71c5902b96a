#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/infer/pipeline/in_flight.h"

namespace mangrove::infer {

/// Which micro-batches are waiting, in flight, and answered. Micro-batch i has the samples from i * size on; the last
/// one may have fewer. No input or output; threads: one at a time.
class MicroBatches {
 public:
  /// samples >= 0; size >= 1; window >= 1: the most micro-batches in flight at once.
  MicroBatches(std::int64_t samples, std::int64_t size, std::size_t window);

  struct Part {
    std::uint64_t id;
    std::int64_t begin;
    std::int64_t count;
  };
  /// The next one to send, which is now in flight. Those that must be sent again come first. Nothing: the window is
  /// full, or all were sent.
  std::optional<Part> send_next(Instant now);
  /// Marks it as answered. Returns false if it was answered before or does not exist.
  bool answer(std::uint64_t id);
  /// Forgets its answer, and marks it to be sent again. REQUIRES is_answered(id).
  void redo(std::uint64_t id);
  void set_window(std::size_t window) { window_ = window; }
  // See InFlight.
  void renew(std::uint64_t id, Instant now) { in_flight_.renew(id, now); }
  void resend_all() { in_flight_.resend_all(); }
  std::vector<std::uint64_t> resend_overdue(Instant now, Seconds timeout) {
    return in_flight_.resend_overdue(now, timeout);
  }

  Part part(std::uint64_t id) const;
  bool exists(std::uint64_t id) const { return id < answered_.size(); }
  bool is_answered(std::uint64_t id) const { return answered_[id]; }
  std::size_t size() const { return answered_.size(); }
  std::size_t in_flight() const { return in_flight_.size(); }
  bool done() const { return answers_ == answered_.size(); }

 private:
  std::int64_t samples_, size_;
  std::size_t window_;
  std::vector<bool> answered_;
  std::size_t answers_ = 0;
  std::uint64_t next_ = 0;  // the first that was never sent
  InFlight in_flight_;
};

}  // namespace mangrove::infer
