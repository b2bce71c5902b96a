#pragma once

#include "mangrove/job/role.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// Measures how a worker spends its time: each moment belongs to one phase. Between steps the worker waits.
/// threads: one at a time.
class StepTimer {
 public:
  enum class Phase { load, compute, encode, wire, wait };

  explicit StepTimer(job::RoleContext& context) : context_(context), since_(context.clock.now()) {}

  /// Begins a phase, and ends the one before.
  void enter(Phase phase);
  /// This part of the time on the wire was spent waiting for a peer that was not ready.
  void waited_on_wire(Seconds seconds);
  /// Work has come, and decoding begins. The server says how long it held the worker since its last answer; the rest of
  /// the time since then belongs to the wire. If the server does not say, all of it is waiting.
  void take(const Work& work);
  /// The time of this step's finished phases of loading and computing.
  Seconds computed() const { return times_.load + times_.compute; }
  /// The time of this step's finished phases on the wire.
  Seconds on_wire() const { return times_.wire; }
  /// The answer of the step has been sent. Reports the times.
  void end_step();

 private:
  Seconds& time_of(Phase phase);

  job::RoleContext& context_;
  job::StepTimes times_;
  Phase phase_ = Phase::wait;
  Instant since_;  // when the phase began
};

}  // namespace mangrove::train
