#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/cli/command.h"

namespace mangrove::cli {
namespace {

struct RevokeState {
  ClusterAccess access;
  std::string name;
};

Status run_revoke(const RevokeState& state, const CommandContext& context) {
  MG_TRY(const auto client, connect_client(state.access, context.stop));
  MG_RETURN_IF_ERROR(client->revoke(state.name));
  return print_result(nlohmann::json{{"revoked", state.name}}, fmt::format("{} is revoked\n", state.name),
                      context.output);
}

}  // namespace

void add_revoke_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("revoke", "throw a member out of the cluster, or withdraw an invitation");
  auto state = std::make_shared<RevokeState>();
  command->add_option("name", state->name, "name of the member, or id of the invitation")->required();
  add_access_flags(*command, state->access);
  add_output_flags(*command, context.output);
  command->footer(
      "For admins. The member's connections are cut at once, and a job that it takes\n"
      "part in goes on without it. `mangrove members` shows names and invitations.\n"
      "Examples:\n  mangrove revoke pi-3");
  command->callback([&context, state] { context.action = [&context, state] { return run_revoke(*state, context); }; });
}

}  // namespace mangrove::cli
