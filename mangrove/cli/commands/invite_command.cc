#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/cli/command.h"
#include "mangrove/cluster/address.h"
#include "mangrove/identity/join_string.h"
#include "mangrove/identity/wall_time.h"

namespace mangrove::cli {
namespace {

constexpr const char* kNoAddress = "none";

struct InviteState {
  ClusterAccess access;
  std::string role, name, address;
  Seconds ttl = 3600;
  std::int64_t uses = 1;
  Overrides overrides;

  Keys keys() {
    Keys keys;
    keys.begin_group("Invitation");
    keys.add("role", role, "what the one who joins may do: node, client, viewer or admin (required)");
    keys.add("name", name, "its name in the cluster; default: what it calls itself");
    keys.add(
        "address", address,
        "HOST:PORT of the coordinator, as the one who joins reaches it; none: it is looked for on the local network; "
        "default: an address of its machine");
    keys.add_seconds("ttl", ttl, "time after which the string lets nobody in any more", 1, 30 * 24 * 3600);
    keys.add("uses", uses, "how many may join with it", 1, 10'000);
    return keys;
  }
};

/// errors: invalid_argument.
Status check_address(const std::string& text) {
  if (text.empty() || text == kNoAddress) return {};
  const auto address = cluster::parse_host_port(text);
  return address.ok() ? Status() : Status(address.error());
}

Status run_invite(InviteState& state, const CommandContext& context) {
  MG_RETURN_IF_ERROR(apply_overrides(state.overrides, state.keys()));
  if (state.role.empty()) return make_error(Code::invalid_argument, "--role: give node, client, viewer or admin");
  MG_TRY(const identity::Role role, identity::parse_role(state.role).context("--role"));
  MG_RETURN_IF_ERROR(check_address(state.address).context("--address"));
  MG_TRY(const auto client, connect_client(state.access, context.stop));
  cluster::InviteRequest request;
  request.set_role(role_name(role));
  request.set_name(state.name);
  request.set_ttl_s(static_cast<std::int64_t>(state.ttl));
  request.set_uses(static_cast<std::int32_t>(state.uses));
  MG_TRY(const cluster::InviteResponse made, client->invite(request));
  MG_TRY(identity::JoinString string, identity::JoinString::parse(made.join_string()));
  if (!state.address.empty()) string.address = state.address == kNoAddress ? "" : state.address;
  if (const auto where = cluster::parse_host_port(string.address); where.ok() && where->is_loopback())
    std::fprintf(stderr, "the string says %s, which this machine alone reaches; --address says another\n",
                 string.address.c_str());
  const auto expires = identity::WallTime(std::chrono::seconds(made.expires()));
  // the string alone on standard output: it can be piped to where it is needed
  std::fprintf(stderr, "use it before %s with: mangrove %s STRING\n", identity::to_text(expires).c_str(),
               role == identity::Role::node ? "node --join" : "join");
  return print_result(nlohmann::json{{"join_string", string.to_string()}, {"expires", made.expires()}},
                      string.to_string() + "\n", context.output);
}

}  // namespace

void add_invite_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("invite", "print a join string, which lets somebody into the cluster");
  auto state = std::make_shared<InviteState>();
  add_flags(*command, state->keys(), state->overrides);
  add_access_flags(*command, state->access);
  add_output_flags(*command, context.output);
  command->footer(
      "The string holds a secret: who has it gets in, once. It also says which cluster\n"
      "is meant, so that nobody joins an impostor's.\n"
      "Examples:\n"
      "  mangrove invite --role node\n"
      "  mangrove invite --role node --uses 3 --ttl 10min\n"
      "  mangrove invite --role client --name anna > anna.join");
  command->callback([&context, state] { context.action = [&context, state] { return run_invite(*state, context); }; });
}

}  // namespace mangrove::cli
