#include "mangrove/train/step_timer.h"

#include <algorithm>

namespace mangrove::train {

Seconds& StepTimer::time_of(Phase phase) {
  switch (phase) {
    case Phase::load:
      return times_.load;
    case Phase::compute:
      return times_.compute;
    case Phase::encode:
      return times_.encode;
    case Phase::wire:
      return times_.wire;
    case Phase::wait:
      break;
  }
  return times_.wait;
}

void StepTimer::enter(Phase phase) {
  const Instant now = context_.clock.now();
  time_of(phase_) += now - since_;
  phase_ = phase;
  since_ = now;
}

void StepTimer::waited_on_wire(Seconds seconds) {
  const Seconds moved = std::min(seconds, times_.wire);
  times_.wire -= moved;
  times_.wait += moved;
}

void StepTimer::take(const Work& work) {
  const bool after_step = phase_ == Phase::wait;
  enter(Phase::encode);
  if (!after_step) times_ = {};
  if (!work.has_held_s()) return;
  const Seconds held = std::clamp(work.held_s(), 0.0, times_.wait);
  times_.wire += times_.wait - held;
  times_.wait = held;
}

void StepTimer::end_step() {
  enter(Phase::wait);
  times_.ended = since_;
  context_.step_done(times_);
  times_ = {};
}

}  // namespace mangrove::train
