#include "mangrove/cli/command.h"

namespace mangrove::cli {

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
      "data_dir, backend and threads.\n"
      "Exit status: 0 done; 1 failed; 2 wrong command line, job file or name;\n"
      "130 stopped by Ctrl-C.");
  add_run_command(app, context);
  add_train_command(app, context);
  add_eval_command(app, context);
  add_predict_command(app, context);
  add_quantize_command(app, context);
  add_tune_exits_command(app, context);
  add_privacy_command(app, context);
  add_infer_command(app, context);
  add_profile_command(app, context);
  add_plan_command(app, context);
  add_coordinator_command(app, context);
  add_node_command(app, context);
  add_nodes_command(app, context);
  add_top_command(app, context);
  add_report_command(app, context);
  add_jobs_command(app, context);
  add_switch_command(app, context);
  add_sim_command(app, context);
  add_testbed_command(app, context);
  add_data_command(app, context);
  add_model_command(app, context);
  add_doctor_command(app, context);
  add_completion_command(app, context);
  add_man_command(app, context);
  add_help_command(app);
}

void add_help_command(CLI::App& app) {
  // main() turns it into --help of the command
  auto* command = app.add_subcommand("help", "show the flags and examples of a command");
  command->add_option("command", "the command, e.g. train or data make")->type_name("");
  command->footer("Examples:\n  mangrove help train\n  mangrove help data pack");
}

}  // namespace mangrove::cli
