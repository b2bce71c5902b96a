#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "mangrove/base/file.h"
#include "mangrove/base/host_name.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/commands/bench_run.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/engine/backend.h"
#include "mangrove/engine/known_backends.h"
#include "mangrove/identity/wall_time.h"
#include "mangrove/job/json_fields.h"

namespace mangrove::cli {
namespace {

constexpr Seconds kLongestBench = 86'400;

struct BenchState {
  std::string output;
  Seconds seconds = 120;
  std::int64_t threads = 0;
  std::string backend;
  Overrides overrides;

  Keys keys() {
    Keys keys;
    keys.begin_group("Measurement");
    keys.add_seconds("seconds", seconds, "measure for about this long", 1, kLongestBench);
    keys.add("threads", threads, "measure on one thread and on so many; 0: as many as this process may use",
             or_zero(kThreads));
    keys.add("backend", backend, backend_help());
    return keys;
  }
};

int threads_of_machine(const Board& board) {
  return std::max(1, static_cast<int>(std::lround(board.usable_cores)));
}

Status run_bench(BenchState& state, CommandContext& context) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys()));
  if (state.backend.empty()) state.backend = backend_names().front();
  MG_RETURN_IF_ERROR(find_backend(state.backend));
  if (state.output.empty()) state.output = "mangrove-bench-" + host_name() + ".json";

  BenchReport report{.version = context.version,
                     .date = identity::to_text(identity::wall_now()),
                     .backend = state.backend,
                     .backends = {backend_names().begin(), backend_names().end()},
                     .machine = read_board()};
  report.notes = doubts(report.machine, load_average());
  const bool shows = !context.output.quiet;
  std::optional<WaitDisplay> waiting;
  const auto write = [&](const BenchReport& known) {
    waiting.reset();
    return write_file_atomically(state.output, dump(job::json_of(known), 2) + "\n");
  };
  MG_RETURN_IF_ERROR(write(report));  // before two minutes are spent: can it be written?
  if (shows)
    for (const std::string& note : report.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  Status measured = measure_board(
      {.seconds = state.seconds,
       .threads = state.threads > 0 ? static_cast<int>(state.threads) : threads_of_machine(report.machine),
       .backend = state.backend,
       .stop = context.stop,
       .begin =
           [&](const std::string& what, Seconds expected) {
             if (shows) std::fprintf(stderr, "measuring %s\n", what.c_str());
             waiting.emplace(shows_progress(context.output), "measure", expected);
           },
       .keep = write},
      report);
  waiting.reset();
  const std::string table = bench_table(report);
  if (!measured.ok()) {
    if (measured.code() != Code::cancelled) return measured;
    if (!context.output.json) MG_RETURN_IF_ERROR(print_text(table));
    return make_error(Code::cancelled, "stopped; what was measured until then is in " + state.output);
  }
  return print_result(job::json_of(report), table + state.output + "\n", context.output);
}

}  // namespace

void add_bench_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("bench", "measure how fast this machine trains and runs networks");
  auto state = std::make_shared<BenchState>();
  command
      ->add_option("-o,--output", state->output,
                   "file to write the result to (JSON); default: mangrove-bench-HOST.json in this folder")
      ->type_name("FILE")
      ->group("Output");
  add_flags(*command, state->keys(), state->overrides);
  add_output_flags(*command, context.output);
  command->footer(
      "It needs no network, no data and no weights. What is too slow for the time is\n"
      "left out, and the result says why. Nothing in the file names the machine or you;\n"
      "the default name of the file has the host's name. docs/arm64.md says where to\n"
      "send it. Ctrl-C keeps what was measured so far.\n"
      "Examples:\n"
      "  mangrove bench\n"
      "  mangrove bench --seconds 300 --output pi4.json\n"
      "  mangrove bench --threads 2 --backend simd --json");
  command->callback([&context, state] { context.action = [&context, state] { return run_bench(*state, context); }; });
}

}  // namespace mangrove::cli
