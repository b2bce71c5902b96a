#pragma once

#include "mangrove/job/role.h"
#include "mangrove/train/messages.pb.h"

namespace mangrove::train {

/// Tells where the time of a worker's steps goes. Time passes in one phase after another; between steps the worker
/// waits.
/// threads: one at a time.
class StepTimer {
 public:
  enum class Phase { load, compute, encode, wire, wait };

  explicit StepTimer(job::RoleContext& context) : context_(context), since_(context.clock.now()) {}

  /// From now on time is of this phase.
  void enter(Phase phase);
  /// So much of the wire's time was spent waiting for a peer that was not ready.
  void waited_on_wire(Seconds seconds);
  /// Work has come. What the server did not hold it for since this worker's last answer, the wire took; where the
  /// server does not say, all is waiting. What follows is decoding.
  void take(const Work& work);
  /// Of the step so far, as far as its phases are over; loading counts.
  Seconds computed() const { return times_.load + times_.compute; }
  /// The same, of messages on their way.
  Seconds on_wire() const { return times_.wire; }
  /// The step's answer is on its way: its times are told.
  void end_step();

 private:
  Seconds& time_of(Phase phase);

  job::RoleContext& context_;
  job::StepTimes times_;
  Phase phase_ = Phase::wait;
  Instant since_;  // when it was entered
};

}  // namespace mangrove::train
