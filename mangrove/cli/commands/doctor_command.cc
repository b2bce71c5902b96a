#include <nlohmann/json.hpp>

#include "mangrove/cli/command.h"
#include "mangrove/cli/doctor.h"

namespace mangrove::cli {
namespace {

Status run(CommandContext& context) {
  const std::vector<Finding> findings = examine_machine();
  context.failed = is_broken(findings);
  return print_result(doctor_json(findings), doctor_text(findings), context.output);
}

}  // namespace

void add_doctor_command(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("doctor", "say what this machine can do, what is missing, and what to do about it");
  add_output_flags(*command, context.output);
  command->footer(
      "Ends with status 1 only where something is broken that is needed, or that the configuration names.\n"
      "Examples:\n"
      "  mangrove doctor\n"
      "  mangrove doctor --json");
  command->callback([&context] { context.action = [&context] { return run(context); }; });
}

}  // namespace mangrove::cli
