#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "mangrove/base/format.h"
#include "mangrove/base/stop.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/flag_ranges.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/data/dataset.h"
#include "mangrove/testbed/control.h"
#include "mangrove/testbed/testbed.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

struct TestbedState {
  std::string file;
  std::string data_dir, log_dir;
  bool no_limits = false;
  std::int64_t threads = 1;
  std::string board;
  Seconds cut_for = 10;
  Overrides overrides;

  Keys up_keys() {
    Keys keys;
    keys.add("no_limits", no_limits, "continue even if the limits of the boards cannot be set");
    keys.add("threads", threads, "threads of each node", kThreads);
    keys.add("data_dir", data_dir, "folder of the data sets; default: $MANGROVE_DATA, or else ~/.cache/mangrove/data");
    keys.add("log_dir", log_dir, "folder for logs; default: none are kept");
    return keys;
  }
  Keys cut_keys() {
    Keys keys;
    keys.add_seconds("for", cut_for, "time after which the link works again");
    return keys;
  }
};

/// "-" where there is no limit.
std::string text_or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string bytes_or_dash(const std::optional<Bytes>& bytes) {
  return bytes ? format_bytes(*bytes) : "-";
}

std::string state_word(const testbed::BoardState& state) {
  return !state.is_running ? "ended" : state.is_cut ? "cut" : "running";
}

json number_or_null(const auto& value) {
  return value ? json(*value) : json();
}

json to_json(const testbed::Record& record) {
  json boards = json::array();
  for (const testbed::Record::Node& node : record.nodes) {
    const testbed::BoardState state = testbed::observe(node);
    boards.push_back({{"name", node.board.name},
                      {"state", state_word(state)},
                      {"pid", node.pid},
                      {"cpu", number_or_null(state.cpu)},
                      {"memory", number_or_null(state.memory_limit)},
                      {"memory_used", number_or_null(state.memory_use)},
                      {"rate", state.rate},
                      {"netns", node.netns},
                      {"cpu_group", node.cpu},
                      {"memory_group", node.memory},
                      {"delay_s", node.board.delay},
                      {"jitter_s", node.board.jitter},
                      {"loss", node.board.loss}});
  }
  return {{"coordinator", record.coordinator},
          {"up", testbed::is_up(record)},
          {"owner", record.owner},
          {"boards", std::move(boards)}};
}

std::string to_table(const testbed::Record& record) {
  std::string table = fmt::format(
      "{}\n  {:<16} {:>8} {:>8} {:>9} {:>9} {:>10} {:>9} {:>7}\n",
      testbed::is_up(record) ? fmt::format("testbed of process {}, coordinator {}", record.owner, record.coordinator)
                             : fmt::format("remains of process {}, which has ended", record.owner),
      "board", "state", "cpu", "memory", "used", "rate", "delay", "loss");
  for (const testbed::Record::Node& node : record.nodes) {
    const testbed::BoardState state = testbed::observe(node);
    table += fmt::format("  {:<16} {:>8} {:>8} {:>9} {:>9} {:>10} {:>9} {:>7}\n", node.board.name, state_word(state),
                         state.cpu ? format_percent(*state.cpu, 0) : "-", bytes_or_dash(state.memory_limit),
                         bytes_or_dash(state.memory_use), text_or_dash(state.rate),
                         node.board.delay > 0 ? format_seconds(node.board.delay) : "-",
                         node.board.loss > 0 ? format_percent(node.board.loss, 1) : "-");
  }
  return table;
}

Status up(TestbedState& state, const std::stop_token& stop) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.up_keys()));
  testbed::TestbedOptions options;
  options.file = state.file;
  options.limits_or_fail = !state.no_limits;
  options.threads = static_cast<int>(state.threads);
  options.data_folder = data::data_folder(state.data_dir);
  if (!state.log_dir.empty()) MG_RETURN_IF_ERROR(make_writable_folder(state.log_dir));
  options.log_folder = state.log_dir;
  std::fprintf(stderr, "starting the boards of %s\n", state.file.c_str());
  std::optional<WaitDisplay> waiting(std::in_place, shows_progress({}), "start", 0);
  MG_TRY(const auto testbed, testbed::Testbed::start(options));
  waiting.reset();
  std::printf("%stestbed ready on %s\n", to_table(testbed->record()).c_str(), testbed->record().coordinator.c_str());
  std::fflush(stdout);
  wait_for_stop(stop);
  return {};
}

Status down(const TestbedState& state) {
  const auto records = testbed::find_testbeds(state.file);
  for (const testbed::Record& record : records) MG_RETURN_IF_ERROR(testbed::take_down(record));
  std::printf("%s\n", records.empty() ? "no testbed of this file is up" : "taken down");
  return {};
}

Status status(const TestbedState& state, const OutputOptions& output) {
  json all = json::array();
  std::string table;
  for (const testbed::Record& record : testbed::find_testbeds(state.file)) {
    all.push_back(to_json(record));
    table += to_table(record);
  }
  if (table.empty()) table = "no testbed of this file is up\n";
  return print_result({{"testbeds", std::move(all)}}, table, output);
}

Status cut_and_tell(const testbed::Record::Node& node, Seconds cut_for, const std::stop_token& stop) {
  std::fprintf(stderr, "the link of %s is cut for %s\n", node.board.name.c_str(), format_seconds(cut_for).c_str());
  {
    const WaitDisplay waiting(shows_progress({}), "cut", cut_for);
    MG_RETURN_IF_ERROR(testbed::cut_link(node, cut_for, stop));
  }
  std::fprintf(stderr, "the link of %s is up again\n", node.board.name.c_str());
  return {};
}

Status cut(TestbedState& state, const std::stop_token& stop) {
  constexpr Seconds kLongest = 24 * 3600;
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.cut_keys()));
  if (!(state.cut_for > 0 && state.cut_for <= kLongest))
    return make_error(Code::invalid_argument,
                      "--for: must be above 0 and at most a day, got " + format_seconds(state.cut_for));
  std::vector<std::string> names;
  for (const testbed::Record& record : testbed::find_testbeds(state.file)) {
    if (!testbed::is_up(record)) continue;
    for (const testbed::Record::Node& node : record.nodes) {
      if (node.board.name == state.board) return cut_and_tell(node, state.cut_for, stop);
      names.push_back(node.board.name);
    }
  }
  if (names.empty()) return make_error(Code::not_found, "no testbed of " + state.file + " is up");
  return make_error(Code::invalid_argument, "no board '" + state.board + "'" + suggestion(state.board, names));
}

CLI::App* add_subcommand(CLI::App& app, const std::shared_ptr<TestbedState>& state, const char* name, const char* help,
                         const char* example) {
  auto* command = app.add_subcommand(name, help);
  command->footer(std::string("Examples:\n  mangrove testbed ") + name + " examples/testbed/ten-pi3.yaml" + example);
  command->add_option("file", state->file, "board file")->required();
  return command;
}

}  // namespace

void add_testbed_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("testbed", "emulate boards on this machine (as root)");
  command->require_subcommand(1);
  auto state = std::make_shared<TestbedState>();
  const auto act = [&context](CLI::App* subcommand, const std::function<Status()>& action) {
    subcommand->callback([&context, action] { context.action = action; });
  };
  auto* up_command = add_subcommand(*command, state, "up", "start the boards and a coordinator, until Ctrl-C",
                                    "\n  mangrove testbed up boards.yaml --no-limits   # if you are not root");
  add_flags(*up_command, state->up_keys(), state->overrides);
  act(up_command, [&context, state] { return up(*state, context.stop); });
  act(add_subcommand(*command, state, "down", "stop what `up`, or a job with --testbed, has started", ""),
      [state] { return down(*state); });
  auto* status_command =
      add_subcommand(*command, state, "status", "show the boards with the limits that are really set", " --json");
  add_output_flags(*status_command, context.output);
  act(status_command, [&context, state] { return status(*state, context.output); });
  auto* cut_command = add_subcommand(*command, state, "cut", "cut the link of a board for a while", " pi-3 --for 10s");
  cut_command->add_option("board", state->board, "name of the board")->required();
  add_flags(*cut_command, state->cut_keys(), state->overrides);
  act(cut_command, [&context, state] { return cut(*state, context.stop); });
  command->footer(
      "Examples:\n"
      "  mangrove testbed up examples/testbed/ten-pi3.yaml\n"
      "  mangrove train --coordinator 198.18.0.1:PORT --data mnist   # `up` prints PORT\n"
      "  mangrove testbed cut examples/testbed/ten-pi3.yaml pi-3 --for 10s\n"
      "  mangrove testbed down examples/testbed/ten-pi3.yaml\n"
      "  mangrove train --testbed examples/testbed/ten-pi3.yaml --data mnist\n"
      "The last one starts the boards, trains on them, and stops them.");
}

}  // namespace mangrove::cli
