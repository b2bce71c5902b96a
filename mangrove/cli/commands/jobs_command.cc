#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/base/printable.h"
#include "mangrove/cli/command.h"
#include "mangrove/cluster/cluster_status.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

Status run_jobs(const ClusterAccess& access, const CommandContext& context) {
  MG_TRY(const auto client, connect_client(access, context.stop));
  MG_TRY(const auto jobs, client->jobs());
  json rows = json::array();
  std::string table = fmt::format("{:<20} {:<8} {:>8} {:>6} {:>7} {:>8}  {:<19}  {}\n", "job", "state", "priority",
                                  "starts", "epoch", "step", "began (UTC)", "what");
  for (const cluster::JobStatus& job : jobs) {
    rows.push_back(cluster::job_json(job));
    const std::string what = printable(job.message().empty() ? job.title() : job.title() + ": " + job.message());
    table += fmt::format("{:<20} {:<8} {:>8} {:>6} {:>7} {:>8}  {:<19}  {}\n", job.id(), job.state(), job.priority(),
                         job.starts(), job.epoch(), job.step(), job.began(), what);
  }
  return print_result(json{{"jobs", rows}}, table, context.output);
}

}  // namespace

void add_jobs_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("jobs", "list the jobs of a running cluster");
  auto access = std::make_shared<ClusterAccess>();
  add_access_flags(*command, *access);
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove jobs --coordinator 192.168.1.10:7070\n"
      "  mangrove jobs --json\n"
      "A coordinator keeps its jobs, unless it was started with --state none: they go\n"
      "on when their client is gone and after a restart, and those that have ended are\n"
      "listed.\n"
      "`mangrove job` shows, follows or stops one of them.");
  command->callback([&context, access] { context.action = [&context, access] { return run_jobs(*access, context); }; });
}

}  // namespace mangrove::cli
