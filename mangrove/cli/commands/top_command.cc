#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/base/stop.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/reports/top_view.h"
#include "mangrove/cluster/client.h"

namespace mangrove::cli {
namespace {

constexpr Seconds kRefreshEvery = 0.5;  // as often as nodes send heartbeats

/// A frame for a file or a pipe, whatever its width.
std::string plain_text(const std::vector<FrameLine>& frame) {
  std::string text;
  for (const FrameLine& line : frame) text += line.text + "\n";
  return text;
}

/// Until it is stopped. A coordinator that does not answer is asked again: what was seen last stays on the screen.
void watch(const std::string& coordinator, cluster::Client& client, cluster::ListNodesResponse status,
           const std::stop_token& stop) {
  Screen screen;
  std::string problem;
  while (true) {
    std::vector<FrameLine> frame = top_frame(coordinator, status, Screen::size());
    if (!problem.empty()) frame.insert(frame.begin(), {problem, FrameLine::Emphasis::warning});
    screen.draw(frame);
    if (wait_for_stop(stop, kRefreshEvery)) return;
    Result<cluster::ListNodesResponse> news = client.status(stop);
    problem = news.ok() ? "" : news.error().message;
    if (news.ok()) status = *std::move(news);
  }
}

Status run(const std::string& coordinator, bool once, const CommandContext& context) {
  MG_TRY(const auto client, cluster::Client::connect(coordinator));
  MG_TRY(cluster::ListNodesResponse status, client->status(context.stop));
  if (!once && !context.output.json && Screen::is_there()) {
    watch(coordinator, *client, std::move(status), context.stop);
    return {};
  }
  const TerminalSize whole{.columns = Screen::size().columns, .rows = 1'000'000};
  return print_result(top_json(coordinator, status), plain_text(top_frame(coordinator, status, whole)), context.output);
}

}  // namespace

void add_top_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("top", "watch a running cluster: its nodes, their load, and the slowest of them");
  auto coordinator = std::make_shared<std::string>("127.0.0.1:7070");
  auto once = std::make_shared<bool>(false);
  command->add_option("--coordinator", *coordinator, "HOST:PORT")->capture_default_str()->type_name("");
  command->add_flag("--once", *once, "print one frame and end; so it is without a terminal");
  add_output_flags(*command, context.output);
  command->footer(
      "Ends on Ctrl-C. `mangrove train --local N` says where its cluster can be watched.\n"
      "Examples:\n"
      "  mangrove top --coordinator 192.168.1.10:7070\n"
      "  mangrove top --once\n"
      "  mangrove top --json");
  command->callback([&context, coordinator, once] {
    context.action = [&context, coordinator, once] { return run(*coordinator, *once, context); };
  });
}

}  // namespace mangrove::cli
