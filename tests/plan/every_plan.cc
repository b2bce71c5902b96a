#include "tests/plan/every_plan.h"

namespace mangrove::testing {
namespace {

std::vector<std::size_t> members(unsigned set) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < 32; ++i)
    if ((set >> i & 1) != 0) all.push_back(i);
  return all;
}

struct Walk {
  const plan::Problem& problem;
  const std::function<bool(const plan::Part&)>& allowed;
  const std::function<void(const std::vector<plan::Part>&)>& visit;
  std::vector<plan::Part> parts = {};

  bool can_follow(unsigned done, unsigned stage) const {
    for (const plan::Flow& flow : problem.network.flows)
      for (const std::size_t to : flow.to)
        if (flow.from && (stage >> to & 1) != 0 && ((done | stage) >> *flow.from & 1) == 0) return false;
    return true;
  }

  bool may_be(const plan::Part& part) const {
    return (problem.most_replicas == 0 || part.devices.size() <= problem.most_replicas) && allowed(part);
  }

  void go(unsigned done, unsigned used) {
    const unsigned all = (1u << problem.network.layers.size()) - 1;
    if (done == all) return visit(parts);
    const unsigned free = ((1u << problem.devices.size()) - 1) & ~used, left = all & ~done;
    for (unsigned stage = left; stage != 0; stage = (stage - 1) & left) {
      if (!can_follow(done, stage)) continue;
      for (unsigned team = free; team != 0; team = (team - 1) & free) {
        plan::Part part{members(stage), members(team)};
        if (!may_be(part)) continue;
        parts.push_back(std::move(part));
        go(done | stage, used | team);
        parts.pop_back();
      }
    }
  }
};

}  // namespace

void for_every_plan(const plan::Problem& problem, const std::function<bool(const plan::Part&)>& allowed,
                    const std::function<void(const std::vector<plan::Part>&)>& visit) {
  Walk{problem, allowed, visit}.go(0, 0);
}

}  // namespace mangrove::testing
