#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/base/format.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/reports/terminal.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr int kNodeColumns = 16, kAddressColumns = 48;

Status run_nodes(const ClusterAccess& access, const CommandContext& context) {
  MG_TRY(const auto client, connect_client(access, context.stop));
  MG_TRY(const auto nodes, client->nodes());
  json list = json::array();
  // as `mangrove top` calls them
  std::string table = fmt::format("{:<16} {:<6} {:>9} {:>8} {:>8} {:>5} {:>8} {:>8}  {}\n", "node", "state",
                                  "heartbeat", "cpu", "memory", "cores", "RAM", "GFLOP/s", "address");
  for (const cluster::NodeStatus& node : nodes) {
    const auto& d = node.description();
    const auto& use = node.use();
    list.push_back({{"name", d.name()},
                    {"state", node.state()},
                    {"suspicion", node.suspicion()},
                    {"address", d.address()},
                    {"host", d.host()},
                    {"cores", d.cores()},
                    {"threads", d.threads()},
                    {"memory_bytes", d.memory_bytes()},
                    {"reference_conv_flops", d.reference_conv_flops()},
                    {"cpu_percent", use.cpu_percent()},
                    {"rss_bytes", use.rss_bytes()},
                    {"sent_bytes", use.sent_bytes()},
                    {"received_bytes", use.received_bytes()}});
    table += fmt::format("{:<16} {:<6} {:>9} {:>8} {:>8} {:>5} {:>8} {:>8}  {}\n", fitted(d.name(), kNodeColumns),
                         node.state(), format_seconds(node.heartbeat_age()), format_percent(use.cpu_percent() / 100, 1),
                         format_bytes(use.rss_bytes()), d.cores(), format_bytes(d.memory_bytes()),
                         format_number(d.reference_conv_flops() / 1e9), fitted(d.address(), kAddressColumns));
  }
  return print_result(json{{"nodes", list}}, table, context.output);
}

}  // namespace

void add_nodes_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("nodes", "list the nodes of a running cluster");
  auto access = std::make_shared<ClusterAccess>();
  add_access_flags(*command, *access);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n  mangrove nodes --coordinator 192.168.1.10:7070\n"
      "Columns: heartbeat is the time since the last one, memory what the node's\n"
      "process has, RAM what it may use, and GFLOP/s the speed of a reference\n"
      "convolution on one thread.");
  command->callback(
      [&context, access] { context.action = [&context, access] { return run_nodes(*access, context); }; });
}

}  // namespace mangrove::cli
