#include <nlohmann/json.hpp>

#include "mangrove/cli/command.h"
#include "mangrove/cli/doctor.h"

namespace mangrove::cli {
namespace {

Status run_doctor(CommandContext& context) {
  const std::vector<Finding> findings = examine_machine();
  context.failed = is_broken(findings);
  return print_result(doctor_json(findings), doctor_text(findings), context.output);
}

}  // namespace

void add_doctor_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("doctor", "check what this machine can do, and say how to get what is missing");
  add_output_flags(*command, context.output);
  command->footer(
      "The exit status is 1 if something does not work that Mangrove needs, or that the\n"
      "configuration file names.\n"
      "Examples:\n"
      "  mangrove doctor\n"
      "  mangrove doctor --json");
  command->callback([&context] { context.action = [&context] { return run_doctor(context); }; });
}

}  // namespace mangrove::cli
