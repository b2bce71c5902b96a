#include "mangrove/learn/schedules/rules.h"

namespace mangrove::learn::rules {

double constant(const SchedulePosition&, const ScheduleOptions&, const Plateau&) {
  return 1;
}

}  // namespace mangrove::learn::rules
