#pragma once

#include <span>
#include <string_view>

#include "mangrove/base/result.h"

namespace mangrove::infer {

/// What is done about tasks of tiers whose device dies or is slow. A row of the table in fault_policy.cc.
struct FaultPolicy {
  std::string_view name;
  std::string_view summary;
  bool gives_up;      // a task whose device is dead or silent is never answered
  bool copies_blind;  // when all tasks have been given out, devices with room get copies of those without an answer
  bool hedges;        // a device without work takes from the queue of another what it would have done sooner, or
                      // copies what that one is at; the first answer wins
};

std::span<const FaultPolicy> fault_policies();
/// errors: invalid_argument (unknown, with the nearest known one).
Result<const FaultPolicy*> find_fault_policy(std::string_view name);

}  // namespace mangrove::infer
