#include "mangrove/train/pipeline/stage_load_meter.h"

#include <algorithm>

namespace mangrove::train {

void StageLoadMeter::begin_iteration() {
  forward_ = backward_ = computing_before_ = 0;
  rationed_before_ = device_.rationed();
  forward_passes_ = forward_passes_before_ = backward_passes_ = 0;
}

void StageLoadMeter::add_forward(Seconds seconds) {
  forward_ += seconds;
  ++forward_passes_;
}

void StageLoadMeter::add_backward(Seconds seconds) {
  backward_ += seconds;
  ++backward_passes_;
  if (!is_cold_) return;
  is_cold_ = false;
  backward_passes_ = 0;
  forward_passes_before_ = forward_passes_;
  computing_before_ = forward_ + backward_;
  rationed_before_ = device_.rationed();
}

void StageLoadMeter::tell(StageWork& done) const {
  done.set_forward_s(forward_);
  done.set_backward_s(backward_);
  done.set_forward_passes(forward_passes_);
  const Seconds computing = forward_ + backward_ - computing_before_, all = device_.rationed() - rationed_before_;
  done.set_with_messages(all >
                         computing);  // where others take the processor, computing takes longer than its time on it
  done.set_busy_s(std::max(computing, all));
  done.set_busy_forward_passes(forward_passes_ - forward_passes_before_);
  done.set_busy_backward_passes(backward_passes_);
}

}  // namespace mangrove::train
