#include "mangrove/engine/step_list.h"

#include <cstddef>

#include "mangrove/base/check.h"
#include "mangrove/engine/accumulate.h"

namespace mangrove {
namespace {

using Kind = Operand::Kind;
using Access = Operand::Access;
using Life = BufferTable::Life;
using Region = BufferRef::Region;

Operand operand(Kind kind, Access access, const std::string& name, const LayoutPtr& layout) {
  return {.kind = kind, .access = access, .name = name, .layout = layout};
}

// How a value and its gradient lie, also where the value was dropped.
const LayoutPtr& layout_of(const StepList::Value& value) {
  return value.copies.empty() ? value.dropped_layout : value.copies[0].layout;
}

/// Of every buffer, how many steps write it.
std::vector<int> count_writes(const std::vector<DraftStep>& steps, std::size_t buffers) {
  std::vector<int> writes(buffers, 0);
  for (const DraftStep& draft : steps) {
    for (std::size_t k = 0; k < draft.buffers.size(); ++k) {
      if (draft.step.operands[k].access != Access::read) ++writes[static_cast<std::size_t>(draft.buffers[k])];
    }
  }
  return writes;
}

// A node's saved buffers are found by its name and theirs; no name of one is the beginning of another's key.
std::string saved_key(const std::string& node, const std::string& name) {
  return node + '\0' + name;
}

}  // namespace

Bytes bytes_in(const ValueInfo& info, const LayoutPtr& layout) {
  return layout ? layout->bytes() : info.shape.elements() * static_cast<Bytes>(size_of(info.dtype));
}

void StepList::declare(const std::string& name, const ValueInfo& info, Role role, bool is_output) {
  const auto [entry, is_new] = values_.emplace(name, Value{.info = info, .role = role, .is_output = is_output});
  MG_CHECK_MSG(is_new, name);
  if (role == Role::input)
    entry->second.copies.push_back({nullptr, buffers_.add(bytes_in(info, nullptr), Life::whole_run)});
}

void StepList::declare_given_gradient(const std::string& name) {
  Value& value = values_.at(name);
  value.given_gradient = buffers_.add(bytes_in(value.info, nullptr), Life::whole_run);
}

void StepList::drop(const std::string& value) {
  Value& dropped = values_.at(value);
  MG_CHECK_MSG(dropped.role == Role::activation && !dropped.is_output, value);
  if (dropped.copies.empty()) return;
  dropped.dropped_layout = dropped.copies[0].layout;
  dropped.copies.clear();
}

void StepList::drop_saved(const std::string& node) {
  std::erase_if(saved_, [&](const auto& saved) { return saved.first.starts_with(saved_key(node, "")); });
}

bool StepList::is_made(const Operand& operand, const std::string& node) const {
  if (operand.kind == Kind::saved) return saved_.contains(saved_key(node, operand.name));
  if (operand.kind != Kind::value) return true;
  const Value& value = values_.at(operand.name);
  return value.role != Role::activation || !value.copies.empty();
}

bool StepList::has_gradient(const std::string& name) const {
  const Value& value = values_.at(name);
  return !value.gradient_copies.empty() || value.given_gradient != kNoBuffer;
}

void StepList::keep_gradient(const std::string& name) {
  Value& value = values_.at(name);
  if (value.gradient_copies.empty()) value.gradient_copies.push_back({layout_of(value), add_gradient(value)});
}

Status StepList::append(Step step, const std::string& backend) {
  std::vector<BufferId> buffers(step.operands.size(), kNoBuffer);
  std::vector<Follow> follows;
  for (std::size_t k = 0; k < step.operands.size(); ++k) {
    if (step.operands[k].access == Access::write) continue;
    MG_TRY(buffers[k], read(step.operands[k], step.node));
  }
  for (std::size_t k = 0; k < step.operands.size(); ++k) {
    if (step.operands[k].access == Access::write) buffers[k] = write(step.operands[k], step.node, follows);
  }
  const std::string node = step.node;
  push(std::move(step), std::move(buffers), backend);
  for (const Follow& follow : follows) MG_RETURN_IF_ERROR(append_follow(follow, node));
  return {};
}

Result<BufferId> StepList::read(Operand& operand, const std::string& node) {
  if (operand.kind == Kind::random) {
    if (random_ == kNoBuffer) random_ = buffers_.add(sizeof(RandomState), Life::whole_run, Region::parameters);
    return random_;
  }
  if (operand.kind == Kind::saved) {
    const auto saved = saved_.find(saved_key(node, operand.name));
    MG_CHECK_MSG(saved != saved_.end(), node + " reads saved '" + operand.name + "' before it is written");
    return saved->second;
  }
  const auto entry = values_.find(operand.name);
  MG_CHECK_MSG(entry != values_.end(), node + " reads unknown value '" + operand.name + "'");
  Value& value = entry->second;
  if (operand.kind == Kind::gradient) {
    if (value.gradient_copies.empty() && value.given_gradient != kNoBuffer) {
      value.gradient_copies.push_back({nullptr, value.given_gradient});
    }
    if (value.gradient_copies.empty()) append_zero_gradient(operand, node);
    return read_copy(value.gradient_copies, operand, node);
  }
  if (value.copies.empty() && value.role == Role::parameter) {  // the first reader decides how it lies
    value.copies.push_back(
        {operand.layout, buffers_.add(bytes_in(value.info, operand.layout), Life::uses, Region::parameters)});
  }
  if (value.copies.empty() && value.role == Role::constant) {
    value.copies.push_back({nullptr, buffers_.add(bytes_in(value.info, nullptr), Life::uses, Region::parameters)});
  }
  return read_copy(value.copies, operand, node);
}

// Nobody uses this output of a node with several.
void StepList::append_zero_gradient(const Operand& operand, const std::string& node) {
  Value& value = values_.at(operand.name);
  const BufferId buffer = add_buffer(value, operand.layout);
  value.gradient_copies.push_back({operand.layout, buffer});
  Step step = zero_step(bytes_in(value.info, operand.layout));
  step.name = node + " zero gradient of " + operand.name;
  step.node = node;
  step.operands = {operand};
  step.operands[0].access = Access::write;
  push(std::move(step), {buffer}, "program");
}

Result<BufferId> StepList::read_copy(std::vector<Copy>& copies, Operand& operand, const std::string& node) {
  MG_CHECK_MSG(!copies.empty(), node + " reads '" + operand.name + "' before it is written");
  for (const Copy& copy : copies) {
    if (!same_layout(copy.layout, operand.layout)) continue;
    operand.layout = copy.layout;  // one object for all: there are many operands
    return copy.buffer;
  }
  const Copy wanted{operand.layout, add_buffer(values_.at(operand.name), operand.layout)};
  MG_RETURN_IF_ERROR(append_reorder(operand, copies[0], wanted, node));
  copies.push_back(wanted);
  return wanted.buffer;
}

BufferId StepList::write(Operand& operand, const std::string& node, std::vector<Follow>& follows) {
  if (operand.kind == Kind::saved) {
    const auto [entry, is_new] = saved_.emplace(saved_key(node, operand.name), kNoBuffer);
    MG_CHECK_MSG(is_new, node + " writes saved '" + operand.name + "' twice");
    return entry->second = buffers_.add(operand.saved_bytes, Life::uses);
  }
  const auto entry = values_.find(operand.name);
  MG_CHECK_MSG(entry != values_.end(), node + " writes unknown value '" + operand.name + "'");
  return operand.kind == Kind::value ? write_value(entry->second, operand, follows)
                                     : write_gradient(entry->second, operand, follows);
}

BufferId StepList::write_value(Value& value, Operand& operand, std::vector<Follow>& follows) {
  MG_CHECK_MSG(value.copies.empty(), "value '" + operand.name + "' is written twice");
  if (same_layout(value.dropped_layout, operand.layout)) operand.layout = value.dropped_layout;
  if (!value.is_output) {
    value.copies.push_back({operand.layout, add_buffer(value, operand.layout)});
    return value.copies[0].buffer;
  }
  value.copies.push_back({nullptr, buffers_.add(bytes_in(value.info, nullptr), Life::whole_run)});
  if (operand.layout) {
    value.copies.push_back({operand.layout, add_buffer(value, operand.layout)});
    follows.push_back({.what = operand, .reorder = std::pair(value.copies[1], value.copies[0])});
  }
  return value.copies.back().buffer;
}

BufferId StepList::write_gradient(Value& value, Operand& operand, std::vector<Follow>& follows) {
  const LayoutPtr layout = layout_of(value);
  const bool lies_otherwise = !same_layout(layout, operand.layout);
  if (!lies_otherwise) operand.layout = layout;
  if (accumulate_gradients_ && value.role == Role::parameter && value.gradient_copies.empty()) {
    value.gradient_copies.push_back({layout, add_gradient(value)});
  }
  const bool is_first = value.gradient_copies.empty();
  Follow follow{.what = operand};
  const Copy placed{layout, is_first ? add_gradient(value) : add_buffer(value, layout)};
  const Copy written{operand.layout, lies_otherwise ? add_buffer(value, operand.layout) : placed.buffer};
  if (lies_otherwise) follow.reorder = std::pair(written, placed);
  if (is_first) {
    value.gradient_copies.push_back(placed);
    follow.term = value.given_gradient;
  } else {
    follow.term = placed.buffer;
  }
  follow.sum = value.gradient_copies[0].buffer;
  if (follow.reorder || follow.term != kNoBuffer) follows.push_back(std::move(follow));
  return written.buffer;
}

Status StepList::append_follow(const Follow& follow, const std::string& node) {
  const std::string& name = follow.what.name;
  if (follow.reorder) {
    MG_RETURN_IF_ERROR(append_reorder(follow.what, follow.reorder->first, follow.reorder->second, node));
  }
  if (follow.term == kNoBuffer) return {};
  const Value& value = values_.at(name);
  const LayoutPtr layout = layout_of(value);
  Step step = accumulate_step(value.info.dtype, bytes_in(value.info, layout), threads_);
  if (value.role != Role::activation) step.slicing.reset();
  step.name = node + " add to gradient of " + name;
  step.node = node;
  step.operands = {operand(Kind::gradient, Access::read, name, layout),
                   operand(Kind::gradient, Access::read, name, layout),
                   operand(Kind::gradient, Access::write, name, layout)};
  push(std::move(step), {follow.sum, follow.term, follow.sum}, "program");
  return {};
}

Status StepList::append_reorder(const Operand& what, const Copy& from, const Copy& to, const std::string& node) {
  const std::string of = (what.kind == Kind::gradient ? "gradient of " : "") + what.name;
  MG_TRY(Step step,
         backend_.make_reorder(values_.at(what.name).info, from.layout, to.layout).context("reorder of " + of));
  step.name = node + " reorder " + of;
  step.node = node;
  MG_CHECK(step.operands.size() == 2);
  step.operands = {operand(what.kind, Access::read, what.name, from.layout),
                   operand(what.kind, Access::write, what.name, to.layout)};
  push(std::move(step), {from.buffer, to.buffer}, std::string(backend_.name()));
  return {};
}

BufferId StepList::add_gradient(const Value& value) {
  const Bytes bytes = bytes_in(value.info, layout_of(value));
  if (value.role == Role::parameter) return buffers_.add(bytes, Life::uses, Region::parameters);
  return buffers_.add(bytes, value.role == Role::input ? Life::whole_run : Life::uses);
}

BufferId StepList::add_buffer(const Value& value, const LayoutPtr& layout) {
  return buffers_.add(bytes_in(value.info, layout), Life::uses);
}

void StepList::push(Step step, std::vector<BufferId> buffers, const std::string& backend) {
  const BufferId workspace = step.workspace > 0 ? buffers_.add(step.workspace, Life::uses) : kNoBuffer;
  steps_.push_back({std::move(step), std::move(buffers), workspace, backend});
}

BufferTable::Placement StepList::place() {
  for (int index = 0; index < size(); ++index) {
    const DraftStep& draft = steps_[static_cast<std::size_t>(index)];
    for (const BufferId buffer : draft.buffers) buffers_.use(buffer, index);
    if (draft.workspace != kNoBuffer) buffers_.use(draft.workspace, index);
  }
  const std::vector<int> writes = count_writes(steps_, buffers_.size());
  for (int index = 0; index < size(); ++index) {
    share_view(index, writes);
    share_in_place(index);
  }
  slices_.extend_lives();
  return buffers_.place(size());
}

void StepList::share_view(int index, const std::vector<int>& writes) {
  const DraftStep& draft = steps_[static_cast<std::size_t>(index)];
  if (!draft.step.is_view) return;
  const BufferId original = draft.buffers[0], view = draft.buffers[1];
  const auto is_rewritten = [&](BufferId buffer) { return writes[static_cast<std::size_t>(buffer)] > 1; };
  if (slices_.is_sliced(original) || slices_.is_sliced(view) || is_rewritten(original) || is_rewritten(view)) return;
  buffers_.share_view(original, view);
}

void StepList::share_in_place(int index) {
  const DraftStep& draft = steps_[static_cast<std::size_t>(index)];
  if (!draft.step.in_place) return;
  const BufferId input = draft.buffers[draft.step.in_place->first], output = draft.buffers[draft.step.in_place->second];
  if (slices_.is_sliced(input) != slices_.is_sliced(output)) return;
  int uses = 0;  // another operand in the same memory would see it change
  for (const BufferId buffer : draft.buffers) uses += buffers_.same_memory(buffer, input) ? 1 : 0;
  if (uses == 1) buffers_.share_in_place(index, input, output);
}

}  // namespace mangrove
