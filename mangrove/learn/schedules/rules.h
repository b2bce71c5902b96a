#pragma once

#include "mangrove/learn/schedule.h"

/// The factor of each schedule, one file each.
namespace mangrove::learn::rules {

double constant(const SchedulePosition& position, const ScheduleOptions& options, const Plateau& plateau);
double step(const SchedulePosition& position, const ScheduleOptions& options, const Plateau& plateau);
double multi_step(const SchedulePosition& position, const ScheduleOptions& options, const Plateau& plateau);
double cosine(const SchedulePosition& position, const ScheduleOptions& options, const Plateau& plateau);
double one_cycle(const SchedulePosition& position, const ScheduleOptions& options, const Plateau& plateau);
double reduce_on_plateau(const SchedulePosition& position, const ScheduleOptions& options, const Plateau& plateau);

/// The plateau after one more validation, of this loss.
Plateau after_validation(Plateau plateau, double loss, const ScheduleOptions& options);

}  // namespace mangrove::learn::rules
