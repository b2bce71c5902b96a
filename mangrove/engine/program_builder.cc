#include "mangrove/engine/program_builder.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "mangrove/base/check.h"
#include "mangrove/engine/gradient_flow.h"
#include "mangrove/engine/node_memory.h"
#include "mangrove/engine/portable/portable_backend.h"

namespace mangrove {
namespace {

bool is_floating(const ValueInfo& info) {
  return info.dtype == DType::f32 || info.dtype == DType::f64;
}

std::string node_title(const Node& node) {
  return "node '" + node.name + "' (" + node.op + ")";
}

bool reads_any(const std::vector<Step>& steps, const std::set<std::string>& values) {
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
    return std::any_of(step.operands.begin(), step.operands.end(), [&](const Operand& operand) {
      return operand.kind == Operand::Kind::value && operand.access == Operand::Access::read &&
             values.contains(operand.name);
    });
  });
}

}  // namespace

ProgramBuilder::ProgramBuilder(const Graph& graph, const CompileOptions& options,
                               std::shared_ptr<const Backend> backend)
    : program_(new Program(graph)),
      graph_(program_->graph_),
      options_(program_->options_),
      backend_(std::move(backend)),
      portable_(make_portable_backend()),
      steps_(*backend_, options.accumulate_gradients, options.threads),
      recomputation_(steps_),
      requests_(graph_, options_, steps_, parameters_, needs_gradient_),
      fusion_(graph_, *backend_, requests_) {
  program_->options_ = options;
  program_->backend_ = backend_;
  for (std::string& name : graph_.parameters()) parameters_.insert(std::move(name));
  outputs_.insert(graph_.outputs().begin(), graph_.outputs().end());
}

Result<std::shared_ptr<const Program>> ProgramBuilder::build() {
  MG_RETURN_IF_ERROR(check_outputs());
  if (options_.mode == Mode::training) MG_RETURN_IF_ERROR(check_trainable(graph_));
  find_wanted_gradients();
  declare_values();
  std::vector<Compiled> compiled;
  MG_RETURN_IF_ERROR(append_forward(compiled));
  const int forward_steps = steps_.size();
  if (options_.mode == Mode::training) {
    drop_results(compiled);
    MG_RETURN_IF_ERROR(append_backward(compiled));
  }
  if (options_.slice) steps_.slice(static_cast<std::size_t>(forward_steps), options_.batch);
  const BufferTable::Placement placement = steps_.place();
  program_->memory_ = placement.memory;
  program_->node_memory_ = measure_nodes(graph_, steps_, forward_steps, options_.mode);
  if (options_.mode == Mode::training && options_.recompute.empty()) program_->chain_ = links(compiled);
  MG_RETURN_IF_ERROR(place_values(placement));
  if (const BufferId random = steps_.random_state(); random != kNoBuffer) {
    program_->random_state_ = placement.places[static_cast<std::size_t>(random)];
  }
  place_steps(placement, forward_steps);
  return std::shared_ptr<const Program>(program_);
}

Status ProgramBuilder::check_outputs() const {
  const bool input_gradients = options_.mode == Mode::training && options_.input_gradients;
  for (const std::string& name : outputs_) {
    if (graph_.initializers().contains(name)) {
      return make_error(Code::unimplemented, "output '" + name + "' of graph '" + graph_.name() +
                                                 "' is an initializer; expected the output of a node");
    }
    const bool is_input = std::any_of(graph_.inputs().begin(), graph_.inputs().end(),
                                      [&](const auto& input) { return input.first == name; });
    if (is_input && input_gradients) {
      return make_error(Code::unimplemented, "output '" + name + "' of graph '" + graph_.name() +
                                                 "' is also its input, which cannot be trained with input gradients");
    }
  }
  return {};
}

ValueInfo ProgramBuilder::bound(const std::string& name) const {
  const ValueInfo& info = graph_.value(name);
  return {info.dtype, info.shape.with_batch(options_.batch)};
}

void ProgramBuilder::find_wanted_gradients() {
  if (options_.mode != Mode::training) return;
  for (const std::string& name : parameters_) needs_gradient_.insert(name);
  if (options_.input_gradients) {
    for (const auto& [name, info] : graph_.inputs()) {
      if (is_floating(info)) needs_gradient_.insert(name);
    }
  }
  for (const Node& node : graph_.nodes()) {
    const bool reaches = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](const std::string& input) { return needs_gradient_.contains(input); });
    if (!reaches) continue;
    for (const std::string& output : node.outputs) {
      if (!output.empty() && is_floating(graph_.value(output))) needs_gradient_.insert(output);
    }
  }
}

void ProgramBuilder::declare_values() {
  using Role = StepList::Role;
  for (const auto& [name, info] : graph_.inputs()) {
    steps_.declare(name, bound(name), Role::input, outputs_.contains(name));
  }
  for (const auto& [name, tensor] : graph_.initializers()) {
    // the only reader may have a constant lie as it likes
    const bool is_laid_out = parameters_.contains(name) || requests_.is_read_once(name);
    steps_.declare(name, bound(name), is_laid_out ? Role::parameter : Role::constant, false);
  }
  for (const Node& node : graph_.nodes()) {
    for (const std::string& name : node.outputs) {
      if (!name.empty()) steps_.declare(name, bound(name), Role::activation, outputs_.contains(name));
    }
  }
  if (options_.mode != Mode::training) return;
  for (const std::string& name : outputs_) {
    if (is_floating(graph_.value(name))) steps_.declare_given_gradient(name);
  }
}

Result<ProgramBuilder::Compiled> ProgramBuilder::make_kernels(const KernelRequest& request,
                                                              const Backend& backend) const {
  MG_TRY(NodeKernels kernels, backend.make_kernels(request).context(node_title(request.node)));
  return Compiled{std::move(kernels), std::string(backend.name()), &request.node, {}, request.output_names[0]};
}

void ProgramBuilder::note_fused(const Node& node, const std::vector<const Node*>& epilogue) {
  for (const Node* fused : epilogue) {
    program_->notes_.push_back(node_title(*fused) + " is fused into " + node_title(node));
    fused_.insert(fused);
  }
}

/// Nothing where no kernel of the backend reads what the node's inputs are dequantized from.
std::optional<KernelRequest> ProgramBuilder::request_for_dequantized(const Node& node) {
  const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                               [&](const std::string& input) { return requests_.dequantizer(input) != nullptr; });
  if (!any || !backend_->supports_dequantized(requests_.make(node, {}, Reading::dequantized))) return std::nullopt;
  const std::vector<const Node*> epilogue = fusion_.epilogue_of(node, Reading::dequantized);
  note_fused(node, epilogue);
  return requests_.make(node, epilogue, Reading::dequantized);
}

Status ProgramBuilder::append_dequantizers(const Node& node, std::vector<Compiled>& compiled) {
  for (const std::string& input : node.inputs) {
    const Node* dequantizer = requests_.dequantizer(input);
    if (dequantizer != nullptr && steps_.value(input).copies.empty()) {
      MG_RETURN_IF_ERROR(append_node(*dequantizer, compiled));
    }
  }
  return {};
}

Result<ProgramBuilder::Compiled> ProgramBuilder::compile_node(const KernelRequest& request) {
  const Node& node = request.node;
  if (!request.dequantized.empty() || backend_->supports(request)) return make_kernels(request, *backend_);
  const std::string of = node.outputs.empty() ? ""
                                              : " of " + std::string(dtype_name(request.outputs[0].dtype)) + " " +
                                                    to_string(request.outputs[0].shape);
  if (!portable_->supports(request)) {
    return make_error(Code::unimplemented, node_title(node) + ": no backend has a kernel" + of);
  }
  program_->notes_.push_back(node_title(node) + " is portable: " + std::string(backend_->name()) + " has no kernel" +
                             of);
  return make_kernels(request, *portable_);
}

Status ProgramBuilder::append_node(const Node& node, std::vector<Compiled>& compiled) {
  std::optional<KernelRequest> request = request_for_dequantized(node);
  if (!request) {
    MG_RETURN_IF_ERROR(append_dequantizers(node, compiled));
    const std::vector<const Node*> epilogue =
        options_.fuse ? fusion_.epilogue_of(node, Reading::floats) : std::vector<const Node*>();
    note_fused(node, epilogue);
    for (const Node* fused : epilogue) MG_RETURN_IF_ERROR(append_dequantizers(*fused, compiled));
    request.emplace(requests_.make(node, epilogue, Reading::floats));
  }
  MG_TRY(Compiled one, compile_node(*request));
  one.steps.first_forward = steps_.size();
  for (Step& step : one.kernels.forward) {
    step.node = node.name;
    MG_RETURN_IF_ERROR(steps_.append(step, one.backend).context(node_title(node)));
  }
  one.steps.end_forward = steps_.size();
  for (auto* more : {&one.kernels.backward, &one.kernels.recompute}) {
    for (Step& step : *more) step.node = node.name;
  }
  compiled.push_back(std::move(one));
  return {};
}

Status ProgramBuilder::append_forward(std::vector<Compiled>& compiled) {
  for (const Node& node : graph_.nodes()) {
    // one that only dequantizes waits for somebody who wants its floats
    const bool waits = node.outputs.size() == 1 && requests_.dequantizer(node.outputs[0]) == &node;
    if (!waits && !fused_.contains(&node)) MG_RETURN_IF_ERROR(append_node(node, compiled));
  }
  return {};
}

void ProgramBuilder::drop_results(const std::vector<Compiled>& compiled) {
  const std::set<std::string> wanted(options_.recompute.begin(), options_.recompute.end());
  // What was dropped; `remade`: but is made from what is kept, for one node alone, which is then as cheap to make
  // again.
  std::set<std::string> dropped, remade;
  for (const Compiled& one : compiled) {
    const bool is_wanted = wanted.contains(one.node->name);
    // cheap only where what it is made from is kept
    const bool is_cheap = one.kernels.recompute_always && !reads_any(one.kernels.recompute, dropped);
    if (!is_wanted && !is_cheap) continue;
    const bool for_one = is_cheap && !reads_any(one.kernels.recompute, remade) && fusion_.has_one_use(one.output);
    (for_one ? remade : dropped).insert(one.output);
    recomputation_.drop(one.kernels, one.node->name, one.backend);
  }
}

Status ProgramBuilder::append_backward(std::vector<Compiled>& compiled) {
  for (auto one = compiled.rbegin(); one != compiled.rend(); ++one) {
    // Nothing that leads to a graph output uses an output of this node: all its gradients are zero.
    const auto has_gradient = [&](const std::string& name) { return !name.empty() && steps_.has_gradient(name); };
    const std::vector<std::string>& outputs = one->node->outputs;
    if (!has_gradient(one->output) && std::none_of(outputs.begin(), outputs.end(), has_gradient)) continue;
    one->steps.first_backward = steps_.size();
    for (Step& step : one->kernels.backward) {
      const std::string node = step.node;
      MG_RETURN_IF_ERROR(recomputation_.restore_for(step).context("node '" + node + "', recomputation"));
      MG_RETURN_IF_ERROR(steps_.append(std::move(step), one->backend).context("node '" + node + "', backward"));
    }
    one->steps.end_backward = steps_.size();
  }
  for (const std::string& name : needs_gradient_) {
    if (steps_.value(name).role != StepList::Role::activation) steps_.keep_gradient(name);
  }
  return {};
}

std::vector<Program::Link> ProgramBuilder::links(const std::vector<Compiled>& compiled) const {
  std::vector<LinkSteps> ranges;
  for (const Compiled& one : compiled) ranges.push_back(one.steps);
  const std::vector<MeasuredLink> measured = measure_chain(steps_, ranges);
  std::vector<Program::Link> links;
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    links.push_back({.node = compiled[i].node, .link = measured[i].link, .last_reader = measured[i].last_reader});
  }
  return links;
}

Result<std::shared_ptr<const Step>> ProgramBuilder::shared_reorder(const ValueInfo& info, const LayoutPtr& from,
                                                                   const LayoutPtr& to) {
  const auto made = std::find_if(reorders_.begin(), reorders_.end(), [&](const Reorder& reorder) {
    return reorder.shape == info.shape && same_layout(reorder.from, from) && same_layout(reorder.to, to);
  });
  if (made != reorders_.end()) return made->step;
  MG_TRY(Step step, backend_->make_reorder(info, from, to));
  reorders_.push_back({info.shape, from, to, std::make_shared<const Step>(std::move(step))});
  return reorders_.back().step;
}

Result<Program::PlacedValue> ProgramBuilder::placed(const StepList::Value& value,
                                                    const BufferTable::Placement& placement) {
  const auto place_of = [&](BufferId buffer) { return placement.places[static_cast<std::size_t>(buffer)]; };
  const StepList::Copy& lies = value.copies[0];
  Program::PlacedValue result;
  result.info = value.info;
  result.layout = lies.layout;
  result.value = place_of(lies.buffer);
  result.bytes = bytes_in(value.info, lies.layout);
  if (lies.layout) {
    MG_TRY(result.from_plain, shared_reorder(value.info, nullptr, lies.layout));
  }
  if (lies.layout && !lies.layout->is_one_way()) {
    MG_TRY(result.to_plain, shared_reorder(value.info, lies.layout, nullptr));
  }
  BufferId gradient = value.given_gradient;
  if (gradient == kNoBuffer && !value.gradient_copies.empty()) gradient = value.gradient_copies[0].buffer;
  if (gradient != kNoBuffer) {
    result.gradient = place_of(gradient);
    result.has_gradient = true;
  }
  return result;
}

Status ProgramBuilder::place_values(const BufferTable::Placement& placement) {
  for (const auto& [name, value] : steps_.values()) {
    if (value.copies.empty()) continue;  // a constant that no step reads
    if (value.role == StepList::Role::activation && !value.is_output) continue;
    MG_TRY(program_->values_[name], placed(value, placement).context("value '" + name + "'"));
  }
  return {};
}

void ProgramBuilder::place_steps(const BufferTable::Placement& placement, int forward_steps) {
  const std::vector<SliceGroup>& groups = steps_.slice_groups();
  auto group = groups.begin();
  std::size_t index = 0;
  for (DraftStep& draft : steps_.take_steps()) {
    Program::PlacedStep step;
    step.step = std::move(draft.step);
    step.backend = std::move(draft.backend);
    for (const BufferId buffer : draft.buffers)
      step.buffers.push_back(placement.places[static_cast<std::size_t>(buffer)]);
    if (draft.workspace != kNoBuffer) step.workspace = placement.places[static_cast<std::size_t>(draft.workspace)];
    if (group != groups.end() && index == group->last) ++group;
    if (group != groups.end() && index >= group->first) {
      step.slices = group->slices;
      step.sliced = std::move(draft.sliced);
      step.strides = std::move(draft.strides);
      step.starts_group = index == group->first;
      step.step.bind = nullptr;  // and with it the primitive for the whole batch
    }
    step.step.slicing.reset();
    (index++ < static_cast<std::size_t>(forward_steps) ? program_->forward_ : program_->backward_)
        .push_back(std::move(step));
  }
}

}  // namespace mangrove
