#include "mangrove/engine/program.h"

#include <string_view>
#include <utility>

#include "mangrove/base/process_memory.h"
#include "mangrove/engine/operation_limit.h"
#include "mangrove/engine/program_builder.h"

namespace mangrove {
namespace {

std::string describe_operand(const Operand& operand) {
  std::string text = operand.kind == Operand::Kind::gradient ? "d"
                     : operand.kind == Operand::Kind::saved  ? "saved "
                                                             : "";
  text += operand.name;
  if (operand.layout) text += ":" + operand.layout->describe();
  return text;
}

std::string describe_operands(const Step& step, Operand::Access access) {
  std::string text;
  for (const Operand& operand : step.operands) {
    if (operand.access == access) text += (text.empty() ? "" : ", ") + describe_operand(operand);
  }
  return text;
}

std::string describe_steps(std::string_view title, const std::vector<Program::PlacedStep>& steps) {
  std::string text = std::string(title) + ": " + std::to_string(steps.size()) + " steps\n";
  for (const Program::PlacedStep& placed : steps) {
    text += "  " + placed.step.name + " [" + placed.backend + "] " +
            describe_operands(placed.step, Operand::Access::read) + " -> " +
            describe_operands(placed.step, Operand::Access::write);
    if (placed.slices > 1)
      text += (placed.starts_group ? " in " : " with it in ") + std::to_string(placed.slices) + " slices";
    text += "\n";
  }
  return text;
}

}  // namespace

Result<std::shared_ptr<const Program>> Program::compile(const Graph& graph, const CompileOptions& options) {
  for (const auto& [what, number] : {std::pair<const char*, std::int64_t>{"batch", options.batch},
                                     std::pair<const char*, std::int64_t>{"threads", options.threads}}) {
    if (number >= 1) continue;
    return make_error(Code::invalid_argument, "graph '" + graph.name() + "': " + what + " is " +
                                                  std::to_string(number) + ", expected at least 1");
  }
  if (!options.timing_only) MG_RETURN_IF_ERROR(check_operations(graph, options.batch));
  MG_TRY(std::shared_ptr<const Backend> backend,
         find_backend(options.backend.empty() ? std::string_view(backend_names()[0]) : options.backend));
  auto program = ProgramBuilder(graph, options, std::move(backend)).build();
  release_freed_memory();  // drafts of the steps, and primitives for the whole batch where slices took their place
  return program;
}

std::string Program::describe() const {
  std::string text = "graph '" + graph_.name() + "', " + (options_.mode == Mode::training ? "training" : "inference") +
                     ", batch " + std::to_string(options_.batch) + ", backend " + std::string(backend_->name()) + "\n";
  text += "memory: parameters " + format_bytes(memory_.parameters) + ", arena " + format_bytes(memory_.arena) +
          " (without overlapping " + format_bytes(memory_.activations) + ")\n";
  for (const std::string& note : notes_) text += "note: " + note + "\n";
  text += describe_steps("forward", forward_);
  if (options_.mode == Mode::training) text += describe_steps("backward", backward_);
  return text;
}

}  // namespace mangrove
