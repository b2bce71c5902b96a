#include "mangrove/infer/tiers/fault_policy.h"

#include <array>
#include <string>
#include <vector>

#include "mangrove/base/table.h"

namespace mangrove::infer {
namespace {

constexpr std::array kPolicies = {
    FaultPolicy{.name = "none",
                .summary = "tasks of a dead device are lost",
                .gives_up = true,
                .copies_blind = false,
                .hedges = false},
    FaultPolicy{.name = "reassign",
                .summary = "once all tasks are given out, tasks without an answer are given to other devices too",
                .gives_up = false,
                .copies_blind = true,
                .hedges = false},
    FaultPolicy{.name = "monitor",
                .summary = "only live devices get work; tasks of dead ones are given out again",
                .gives_up = false,
                .copies_blind = false,
                .hedges = false},
    FaultPolicy{
        .name = "hedged",
        .summary = "as monitor; idle devices also take tasks from the queues of slow ones, and slow tasks run twice",
        .gives_up = false,
        .copies_blind = false,
        .hedges = true},
};

}  // namespace

std::span<const FaultPolicy> fault_policies() {
  return kPolicies;
}

Result<const FaultPolicy*> find_fault_policy(std::string_view name) {
  return find_row(kPolicies, name, "policy: unknown fault policy", Code::invalid_argument);
}

}  // namespace mangrove::infer
