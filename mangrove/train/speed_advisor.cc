#include "mangrove/train/speed_advisor.h"

namespace mangrove::train {

std::optional<Advice> SpeedAdvisor::end_update(Seconds now, std::size_t workers) {
  meter_.end_update(now, workers);
  if (has_looked_ || !meter_.is_settled()) return std::nullopt;
  has_looked_ = true;
  const std::optional<Advice> known = advice();
  return known && known->boards == 1 ? known : std::nullopt;
}

std::optional<Advice> SpeedAdvisor::advice() const {
  std::optional<Speed> speed = meter_.speed();
  if (!speed) return std::nullopt;
  speed->batch = batch_;
  speed->samples_per_epoch = samples_per_epoch_;
  return advise(*speed);
}

}  // namespace mangrove::train
