#include "mangrove/cli/program.h"

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mangrove/base/json_dump.h"
#include "mangrove/base/printable.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/help.h"
#include "mangrove/cli/interrupt.h"
#include "mangrove/cli/usage.h"
#include "mangrove/cli/user_config.h"

namespace mangrove::cli {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;
constexpr int kInterrupted = 130;

/// What the user typed or named is wrong: 2; stopped by a signal: 130; everything else that fails: 1.
int exit_status(const Error& error, bool interrupted) {
  if (interrupted && error.code == Code::cancelled) return kInterrupted;
  return error.code == Code::invalid_argument || error.code == Code::not_found ? kUsage : kFailure;
}

int report_error(const Error& error, int status, bool as_json) {
  std::fprintf(stderr, "mangrove: %s\n", printable(error.message, true).c_str());
  if (as_json)
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

/// Turns core dumps off, since keys and join strings would be in them. To look for a fault, turn them on again with
/// `prlimit --core`.
void leave_no_core_dumps() {
  rlimit core{};
  if (::getrlimit(RLIMIT_CORE, &core) != 0) return;
  core.rlim_cur = 0;
  ::setrlimit(RLIMIT_CORE, &core);  // else it stays as it is
}

/// gRPC wakes a thread for every piece of a message that comes in; with these of its experiments only when much of it
/// is there. Where the user has chosen some, or this version does not know them, it stays as it is.
void wake_for_large_pieces() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet
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

bool asks_for_json(const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), "--json") != words.end();
}

/// The person's defaults. A folder of data sets becomes the environment's, which job files and flags are stronger than,
/// and which processes that this one starts see too. errors: those of load_user_config.
Status add_user_config(std::vector<std::string>& words, CLI::App& app) {
  MG_TRY(const UserConfig config, load_user_config(user_config_path()));
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet
  if (!config.data_dir.empty()) ::setenv("MANGROVE_DATA", config.data_dir.c_str(), 0);
  words = with_config(std::move(words), app, config);
  return {};
}

/// Commands that help to find out what is wrong work with a wrong configuration too.
bool needs_config(CLI::App& app, const std::vector<std::string>& words) {
  const std::string name = named_command(app, words).get_name();
  const bool asks_for_help =
      std::any_of(words.begin(), words.end(), [](const std::string& word) { return word == "--help" || word == "-h"; });
  return !asks_for_help && name != "doctor" && name != "health" && name != "man" && name != "completion" &&
         name != app.get_name();
}

}  // namespace

int run_program(const std::vector<std::string>& arguments, const Program& program) {
  allow_many_files();
  leave_no_core_dumps();
  wake_for_large_pieces();
  Interrupt interrupt;
  CommandContext context;
  context.arguments = arguments;
  context.version = program.version;
  context.simulate = program.simulate;
  context.stop = interrupt.token();

  CLI::App app("Deep learning across end devices, edge servers and the cloud.", "mangrove");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "show this page");
  app.set_version_flag("--version", program.version, "print the version");
  add_commands(app, context);
  std::vector<std::string> words = without_help_command({arguments.begin() + 1, arguments.end()}, app);
  const bool as_json = asks_for_json(words);
  if (needs_config(app, words))
    if (const Status added = add_user_config(words, app); !added.ok())
      return report_error(added.error(), kUsage, as_json);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 wants the last word first
  } catch (const CLI::ParseError& refusal) {
    if (refusal.get_exit_code() == 0) return app.exit(refusal);  // --help, --version
    return report_error(usage_error(app, words, refusal), kUsage, as_json);
  }
  const Status status = guarded(context.action);
  if (status.ok()) return context.failed ? kFailure : 0;
  return report_error(status.error(), exit_status(status.error(), context.stop.stop_requested()), context.output.json);
}

}  // namespace mangrove::cli
