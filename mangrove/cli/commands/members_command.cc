#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/cli/command.h"
#include "mangrove/cli/reports/terminal.h"
#include "mangrove/cluster/cluster_status.h"
#include "mangrove/identity/wall_time.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr int kMemberColumns = 24;

std::string date_text(std::int64_t time) {
  return time == 0 ? "-" : identity::to_text(identity::WallTime(std::chrono::seconds(time)));
}

Status run_members(const ClusterAccess& access, const CommandContext& context) {
  MG_TRY(const auto client, connect_client(access, context.stop));
  MG_TRY(const auto members, client->members());
  json list = json::array();
  std::string table =
      fmt::format("{:<24} {:<11} {:<8} {:<20} {:<20}  {}\n", "member", "role", "state", "since", "until", "invitation");
  for (const cluster::MemberStatus& member : members) {
    list.push_back(cluster::member_json(member));
    const std::string invitation =
        member.invitation().empty() ? "" : fmt::format("{}, {} left", member.invitation(), member.uses_left());
    table += fmt::format("{:<24} {:<11} {:<8} {:<20} {:<20}  {}\n",
                         fitted(member.name().empty() ? "(any)" : member.name(), kMemberColumns), member.role(),
                         member.state(), date_text(member.since()), date_text(member.expires()), invitation);
  }
  return print_result(json{{"members", list}}, table, context.output);
}

}  // namespace

void add_members_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("members", "list who belongs to a cluster, and who is invited");
  auto access = std::make_shared<ClusterAccess>();
  add_access_flags(*command, *access);
  add_output_flags(*command, context.output);
  command->footer(
      "For admins. `until` is when the certificate, or the invitation, expires.\n"
      "Examples:\n  mangrove members --coordinator 192.168.1.10:7070");
  command->callback(
      [&context, access] { context.action = [&context, access] { return run_members(*access, context); }; });
}

}  // namespace mangrove::cli
