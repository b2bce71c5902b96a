#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/base/clock.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/reports/top_view.h"
#include "mangrove/cluster/cluster_status.h"

namespace mangrove::cli {
namespace {

constexpr Seconds kRefreshEvery = 0.5;      // as often as nodes send heartbeats
constexpr Seconds kLookForKeysEvery = 0.1;  // whether the window is as wide as it was
constexpr int kPlainColumns = 160;          // where there is no window

/// A frame for a file or a pipe, whatever its width.
std::string plain_text(const std::vector<FrameLine>& frame) {
  std::string text;
  for (const FrameLine& line : frame) text += line.text + "\n";
  return text;
}

/// The frame as it is now, and again whenever the window's size changes, until it is time for news.
/// Whether the person, or a signal, has ended it.
bool show_screen(const std::string& coordinator, const cluster::ListNodesResponse& status, const std::string& problem,
                 Screen& screen, Keyboard& keyboard, const std::stop_token& stop) {
  const SteadyClock clock;
  TerminalSize drawn{.columns = 0, .rows = 0};
  for (const Deadline news = clock.after(kRefreshEvery); clock.now() < news;) {
    const TerminalSize size = Screen::size();
    if (size.columns != drawn.columns || size.rows != drawn.rows) {
      std::vector<FrameLine> frame = top_frame(coordinator, status, size);
      if (!problem.empty()) frame.insert(frame.begin(), {problem, FrameLine::Emphasis::warning});
      screen.draw(frame);
      drawn = size;
    }
    const Keyboard::Event event = keyboard.wait(stop, kLookForKeysEvery);
    if (event == Keyboard::Event::stopped) return true;
    if (event == Keyboard::Event::key && (keyboard.key() == 'q' || keyboard.key() == 'Q')) return true;
  }
  return stop.stop_requested();
}

/// Until it is stopped. A coordinator that does not answer is asked again: what was seen last stays on the screen.
void watch(const std::string& coordinator, cluster::Client& client, cluster::ListNodesResponse status,
           const std::stop_token& stop) {
  Screen screen;
  Keyboard keyboard;
  std::string problem;
  while (!show_screen(coordinator, status, problem, screen, keyboard, stop)) {
    Result<cluster::ListNodesResponse> news = client.status(stop);
    problem = news.ok() ? "" : news.error().message;
    if (news.ok()) status = *std::move(news);
  }
}

Status run_top(const ClusterAccess& access, bool once, const CommandContext& context) {
  MG_TRY(const auto client, connect_client(access, context.stop));
  const std::string& coordinator = access.coordinator;
  MG_TRY(cluster::ListNodesResponse status, client->status(context.stop));
  if (!once && !context.output.json && Screen::is_there()) {
    watch(coordinator, *client, std::move(status), context.stop);
    return {};
  }
  const TerminalSize whole{.columns = Screen::is_there() ? Screen::size().columns : kPlainColumns, .rows = 1'000'000};
  return print_result(cluster::cluster_json(coordinator, status), plain_text(top_frame(coordinator, status, whole)),
                      context.output);
}

}  // namespace

void add_top_command(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("top", "watch the nodes of a running cluster, their load, and which is the slowest");
  auto access = std::make_shared<ClusterAccess>();
  auto once = std::make_shared<bool>(false);
  add_access_flags(*command, *access);
  command->add_flag("--once", *once, "print once and exit (the default if output is not a terminal)")->group("Output");
  add_output_flags(*command, context.output);
  command->footer(
      "It ends on q or Ctrl-C. `mangrove train --local N` prints the address at which\n"
      "its own cluster can be watched.\n"
      "Examples:\n"
      "  mangrove top --coordinator 192.168.1.10:7070\n"
      "  mangrove top --once\n"
      "  mangrove top --json");
  command->callback([&context, access, once] {
    context.action = [&context, access, once] { return run_top(*access, *once, context); };
  });
}

}  // namespace mangrove::cli
