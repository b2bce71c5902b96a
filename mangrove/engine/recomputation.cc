#include "mangrove/engine/recomputation.h"

#include <algorithm>

#include "mangrove/base/check.h"

namespace mangrove {
namespace {

using Kind = Operand::Kind;
using Access = Operand::Access;

bool is_result(const Operand& operand) {
  return operand.kind == Kind::value && operand.access == Access::write;
}

bool updates_a_state(const std::vector<Step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
    return std::any_of(step.operands.begin(), step.operands.end(),
                       [](const Operand& operand) { return operand.access == Access::update; });
  });
}

}  // namespace

void Recomputation::drop(const NodeKernels& kernels, const std::string& node, const std::string& backend) {
  const bool has_own_steps = !kernels.recompute.empty();
  Dropped dropped{has_own_steps ? kernels.recompute : kernels.forward, backend, !has_own_steps,
                  has_own_steps && kernels.recompute_always};
  if (updates_a_state(dropped.steps)) return;
  std::vector<std::string> results;
  for (const Step& step : dropped.steps) {
    for (const Operand& operand : step.operands) {
      if (!is_result(operand)) continue;
      if (steps_.value(operand.name).is_output) return;
      results.push_back(operand.name);
    }
  }
  for (const std::string& result : results) {
    steps_.drop(result);
    producers_[result] = node;
  }
  if (dropped.saved_too) steps_.drop_saved(node);
  dropped_.emplace(node, std::move(dropped));
}

Status Recomputation::restore_for(const Step& step) {
  // What makes one operand may drop another that is cheap, so it is looked at them until all are there: those that are
  // not cheap are made only once, and what makes a cheap one comes before it in the chain.
  for (bool all_made = false; !all_made;) {
    all_made = true;
    for (const Operand& operand : step.operands) {
      if (operand.access == Access::write || steps_.is_made(operand, step.node)) continue;
      MG_RETURN_IF_ERROR(restore(operand.kind == Kind::saved ? step.node : producers_.at(operand.name)));
      all_made = false;
    }
  }
  return {};
}

Status Recomputation::restore(const std::string& node) {
  const auto found = dropped_.find(node);
  MG_CHECK_MSG(found != dropped_.end(), node);
  const Dropped dropped = found->second;
  if (!dropped.cheap) dropped_.erase(found);
  for (const Step& step : dropped.steps) {
    MG_RETURN_IF_ERROR(restore_for(step));
    MG_RETURN_IF_ERROR(steps_.append(step, dropped.backend));
    drop_cheap_inputs(step);
  }
  return {};
}

void Recomputation::drop_cheap_inputs(const Step& step) {
  for (const Operand& operand : step.operands) {
    const auto producer = producers_.find(operand.name);
    if (operand.kind != Kind::value || operand.access == Access::write || producer == producers_.end()) continue;
    const auto dropped = dropped_.find(producer->second);
    if (dropped != dropped_.end() && dropped->second.cheap) steps_.drop(operand.name);
  }
}

}  // namespace mangrove
