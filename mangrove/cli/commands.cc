#include "mangrove/cli/command.h"

namespace mangrove::cli {

/// All commands, in the order of `mangrove --help`. Each is a function in commands/, in the file of its name.
#define MG_COMMANDS                                                                                                    \
  add_run_command, add_train_command, add_eval_command, add_predict_command, add_quantize_command,                     \
      add_compress_command, add_tune_exits_command, add_privacy_command, add_infer_command, add_serve_command,         \
      add_service_command, add_bench_command, add_profile_command, add_plan_command, add_place_command,                \
      add_coordinator_command, add_node_command, add_invite_command, add_join_command, add_members_command,            \
      add_revoke_command, add_ca_command, add_nodes_command, add_top_command, add_dashboard_command,                   \
      add_report_command, add_jobs_command, add_job_command, add_switch_command, add_sim_command, add_testbed_command, \
      add_data_command, add_model_command, add_strategies_command, add_doctor_command, add_health_command,             \
      add_completion_command, add_man_command

using AddCommand = void(CLI::App& app, CommandContext& context);
AddCommand MG_COMMANDS;

namespace {

void add_help_command(CLI::App& app, CommandContext&) {
  // main() turns it into --help of the command
  auto* command = app.add_subcommand("help", "show the flags and examples of a command");
  command->add_option("command", "the command, e.g. train or data make")->type_name("");
  command->footer("Examples:\n  mangrove help train\n  mangrove help data pack");
}

constexpr AddCommand* kCommands[] = {MG_COMMANDS, add_help_command};

}  // namespace

void add_commands(CLI::App& app, CommandContext& context) {
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  mangrove run examples/lenet-mnist.yaml\n"
      "  mangrove train --model lenet --data glyphs --local 4 --run-dir runs/mine\n"
      "  mangrove infer --model runs/mine/model.onnx --data glyphs --stages 3 --local 3\n"
      "`mangrove help COMMAND` shows the flags and examples of a command.\n"
      "`mangrove doctor` checks this machine.\n"
      "~/.config/mangrove/config.yaml may hold defaults of the flags coordinator,\n"
      "identity, data_dir, backend and threads.\n"
      "Exit status: 0 done; 1 failed; 2 wrong command line, job file or name;\n"
      "130 stopped by Ctrl-C.");
  for (AddCommand* const add : kCommands) add(app, context);
}

}  // namespace mangrove::cli
