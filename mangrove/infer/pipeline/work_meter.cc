#include "mangrove/infer/pipeline/work_meter.h"

#include <algorithm>
#include <utility>

namespace mangrove::infer {

WorkMeter::WorkMeter(const job::RoleContext& context, double slowdown)
    : context_(context), has_spare_core_(context.device.cpu_share() >= context.threads + 1), slowdown_(slowdown) {}

void WorkMeter::begin() {
  resident_ = 0;
  counted_cpu_ = context_.device.computed();
}

Seconds WorkMeter::busy(Seconds computing, Seconds sending) {
  if (has_spare_core_) return computing + sending;
  const Seconds cpu = context_.device.computed();
  return (cpu - std::exchange(counted_cpu_, cpu)) * slowdown_;
}

Bytes WorkMeter::resident() {
  constexpr Seconds kInterval = 0.1;
  const Instant now = context_.clock.now();
  if (resident_ == 0 || now - looked_ >= kInterval) {
    resident_ = std::max(resident_, context_.device.resident_memory());
    looked_ = now;
  }
  return resident_;
}

}  // namespace mangrove::infer
