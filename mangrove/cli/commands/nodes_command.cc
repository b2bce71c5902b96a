#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/cli/command.h"
#include "mangrove/cluster/client.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

Status run(const std::string& coordinator, const OutputOptions& output) {
  MG_TRY(const auto client, cluster::Client::connect(coordinator));
  MG_TRY(const auto nodes, client->nodes());
  json list = json::array();
  std::string table = fmt::format("{:<16} {:<6} {:>9} {:<22} {:>5} {:>10} {:>12} {:>8} {:>10}\n", "node", "state",
                                  "suspicion", "address", "cores", "memory", "conv GFLOP/s", "cpu", "resident");
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
    const std::string suspicion = node.state() == "alive" ? fmt::format("{:.1f}", node.suspicion()) : "";
    table += fmt::format("{:<16} {:<6} {:>9} {:<22} {:>5} {:>10} {:>12.1f} {:>6.1f} % {:>10}\n", d.name(), node.state(),
                         suspicion, d.address(), d.cores(), format_bytes(d.memory_bytes()),
                         d.reference_conv_flops() / 1e9, use.cpu_percent(), format_bytes(use.rss_bytes()));
  }
  return print_result(json{{"nodes", list}}, table, output);
}

}  // namespace

void add_nodes_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("nodes", "the nodes of a running cluster");
  auto coordinator = std::make_shared<std::string>("127.0.0.1:7070");
  command->add_option("--coordinator", *coordinator, "HOST:PORT")->capture_default_str()->type_name("");
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n  mangrove nodes --coordinator 192.168.1.10:7070\n"
      "suspicion: time since the node was heard of, in heartbeat intervals; beyond the coordinator's heartbeat_misses "
      "(6)\n"
      "it is lost.");
  command->callback([&context, coordinator] {
    context.action = [&context, coordinator] { return run(*coordinator, context.output); };
  });
}

}  // namespace mangrove::cli
