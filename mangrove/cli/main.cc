#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>

#include "mangrove/base/json_dump.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/help.h"
#include "mangrove/cli/interrupt.h"

namespace {

using namespace mangrove;

constexpr int kFailure = 1;
constexpr int kUsage = 2;
constexpr int kInterrupted = 130;

/// What the user typed or named is wrong: 2; stopped by a signal: 130; everything else that fails: 1.
int exit_status(const Error& error, bool interrupted) {
  if (interrupted && error.code == Code::cancelled) return kInterrupted;
  return error.code == Code::invalid_argument || error.code == Code::not_found ? kUsage : kFailure;
}

/// CLI11 says of an unknown command only that one is required.
Status check_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == word) return {};
    names.push_back(command->get_name());
  }
  return make_error(Code::invalid_argument, "unknown command '" + word + "'" + suggestion(word, names));
}

int report_error(const Error& error, int status, bool json) {
  std::fprintf(stderr, "mangrove: %s\n", error.message.c_str());
  if (json)
    std::printf("%s\n",
                dump(nlohmann::json{{"error", {{"code", code_name(error.code)}, {"message", error.message}}}}).c_str());
  return status;
}

/// Large data sets have an open file for each shard, coordinators a connection for each node: the usual 1,024 are few.
void allow_many_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);  // else it stays as it is
}

/// gRPC wakes a thread for every piece of a message that comes in; with these of its experiments only when much of it
/// is there. Where the user has chosen some, or this version does not know them, it stays as it is.
void wake_for_large_pieces() {
  ::setenv("GRPC_EXPERIMENTS", "tcp_rcv_lowat,tcp_frame_size_tuning", 0);
}

/// No exception ends the program without a sentence: outside libraries throw, and memory can run out.
Status guarded(const std::function<Status()>& action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    return make_error(Code::resource_exhausted, "out of memory");
  } catch (const std::exception& error) {
    return make_error(Code::internal, std::string("unexpected: ") + error.what());
  }
}

bool asks_for_json(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
}

}  // namespace

int main(int argc, char** argv) {
  allow_many_files();
  wake_for_large_pieces();
  cli::Interrupt interrupt;
  cli::CommandContext context;
  context.stop = interrupt.token();

  CLI::App app("Deep learning across end devices, edge servers and the cloud.", "mangrove");
  app.formatter(std::make_shared<cli::HelpFormatter>());
  app.set_help_flag("-h,--help", "show this page");
  app.set_version_flag("--version", MANGROVE_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  mangrove run examples/lenet-mnist.yaml\n"
      "  mangrove train --model lenet --data mnist --local 4 --epochs 1\n"
      "  mangrove infer --model FILE.onnx --data mnist --stages 3 --local 3\n"
      "`mangrove COMMAND --help` shows a command's flags and examples.\n"
      "Exit status: 0 done; 1 failed; 2 wrong command line, job file or name; 130 stopped by Ctrl-C.");
  cli::add_run_command(app, context);
  cli::add_train_command(app, context);
  cli::add_eval_command(app, context);
  cli::add_predict_command(app, context);
  cli::add_quantize_command(app, context);
  cli::add_tune_exits_command(app, context);
  cli::add_privacy_command(app, context);
  cli::add_infer_command(app, context);
  cli::add_profile_command(app, context);
  cli::add_plan_command(app, context);
  cli::add_coordinator_command(app, context);
  cli::add_node_command(app, context);
  cli::add_nodes_command(app, context);
  cli::add_top_command(app, context);
  cli::add_report_command(app, context);
  cli::add_jobs_command(app, context);
  cli::add_switch_command(app, context);
  cli::add_sim_command(app, context);
  cli::add_testbed_command(app, context);
  cli::add_data_command(app, context);
  cli::add_model_command(app, context);

  if (argc > 1 && argv[1][0] != '-') {
    if (const Status known = check_command(app, argv[1]); !known.ok())
      return report_error(known.error(), kUsage, asks_for_json(argc, argv));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const std::string message = std::string(error.what()) + "; see `mangrove --help`";
    return report_error({Code::invalid_argument, message}, kUsage, asks_for_json(argc, argv));
  }
  const Status status = guarded(context.action);
  if (status.ok()) return context.failed ? kFailure : 0;
  return report_error(status.error(), exit_status(status.error(), context.stop.stop_requested()), context.output.json);
}
