#pragma once

#include <span>
#include <string_view>

#include "mangrove/base/result.h"

namespace mangrove::infer {

/// How tasks of tiers are treated whose device dies or is slow. A row of the table in fault_policy.cc. source: Dean &
/// Barroso, The tail at scale, Communications of the ACM, 2013 (hedged requests: a copy of a slow task).
struct FaultPolicy {
  std::string_view name;
  std::string_view summary;
  bool gives_up;      // a task whose device is dead or silent is never answered
  bool copies_blind;  // when all tasks have been given out, devices with room get copies of those without an answer
  bool hedges;        // a device without work takes a task from another's queue if it would finish it sooner, or copies
                      // the task that the other is working on; the first answer wins
};

std::span<const FaultPolicy> fault_policies();
/// errors: invalid_argument (unknown, with the nearest known one).
Result<const FaultPolicy*> find_fault_policy(std::string_view name);

}  // namespace mangrove::infer
