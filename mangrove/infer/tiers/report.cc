#include "mangrove/infer/tiers/report.h"

#include "mangrove/base/units.h"

namespace mangrove::infer {

std::string SchedulerSwitched::sentence() const {
  return "scheduler " + to + " in place of " + from + " after " + format_seconds(at);
}

void TiersResult::leave_out_answers() {
  all.leave_out_answers();
  coarse_accuracy.reset();
  for (Tier& tier : tiers) tier.accuracy = tier.coarse_accuracy = std::nullopt;
  if (exits)
    for (ExitReport& exit : *exits) exit.accuracy.reset();
}

}  // namespace mangrove::infer
