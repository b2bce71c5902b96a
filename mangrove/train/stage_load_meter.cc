#include "mangrove/train/stage_load_meter.h"

#include <algorithm>

#include "mangrove/base/process_cpu.h"

namespace mangrove::train {
namespace {

/// Simulated devices share a processor, and what several threads take of one does not add up to time.
double slowdown_of(const net::RoleContext& context) {
  const double slowdown = context.resident || context.threads > 1 ? 1 : cpu_slowdown(1);
  return slowdown > 1 ? slowdown : 0;
}

}  // namespace

StageLoadMeter::StageLoadMeter(const net::RoleContext& context) : slowdown_(slowdown_of(context)) {}

Seconds StageLoadMeter::processor_time() const {
  return slowdown_ > 0 ? slowdown_ * process_cpu_time() : 0;
}

void StageLoadMeter::begin_passage() {
  forward_ = backward_ = computing_before_ = 0;
  processor_before_ = processor_time();
  forward_passes_ = counted_ = 0;
}

void StageLoadMeter::add_forward(Seconds seconds) {
  forward_ += seconds;
  ++forward_passes_;
}

void StageLoadMeter::add_backward(Seconds seconds) {
  backward_ += seconds;
  ++counted_;
  if (!is_cold_) return;
  is_cold_ = false;
  counted_ = 0;
  computing_before_ = forward_ + backward_;
  processor_before_ = processor_time();
}

void StageLoadMeter::tell(StageWork& done) const {
  done.set_forward_s(forward_);
  done.set_backward_s(backward_);
  done.set_forward_passes(forward_passes_);
  // where others take the processor, computing takes longer than its time on it
  done.set_busy_s(std::max(forward_ + backward_ - computing_before_, processor_time() - processor_before_));
  done.set_busy_micro_batches(counted_);
}

}  // namespace mangrove::train
