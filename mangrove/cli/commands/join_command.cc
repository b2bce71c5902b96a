#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/base/host_name.h"
#include "mangrove/cli/command.h"
#include "mangrove/cluster/access.h"

namespace mangrove::cli {
namespace {

using identity::Role;

constexpr Seconds kAnswersWithin = 10;

struct JoinState {
  std::string string, name, coordinator;
};

/// A name like "anna.laptop". Characters that a name must not have become dashes.
std::string own_name() {
  const char* user = std::getenv("USER");
  std::string name = std::string(user == nullptr || *user == '\0' ? "user" : user) + "." + host_name();
  for (char& c : name)
    if (!identity::check_name(std::string("a") + c).ok()) c = '-';
  name = name.substr(0, 63);
  return identity::check_name(name).ok() ? name : "user";
}

Status run_join(const JoinState& state, const CommandContext& context) {
  MG_TRY(identity::JoinString string, read_join_string(state.string));
  if (!state.coordinator.empty()) string.address = state.coordinator;
  if (!state.name.empty()) MG_RETURN_IF_ERROR(identity::check_name(state.name).context("--name"));
  const auto store = identity::IdentityStore::of_user();
  const cluster::Access access{.coordinator = string.address,
                               .roles = {Role::admin, Role::client, Role::viewer},
                               .searches = state.coordinator.empty()};
  const identity::Subject wished{Role::client, state.name.empty() ? own_name() : state.name};
  MG_TRY(const cluster::Joined joined,
         cluster::join_or_find_credentials(access, string, wished, store, SteadyClock().after(kAnswersWithin),
                                           context.stop));
  const identity::Subject& subject = joined.credentials->subject();
  return print_result(
      nlohmann::json{{"name", subject.name}, {"role", role_name(subject.role)}, {"coordinator", joined.coordinator}},
      fmt::format("joined the cluster of {} as the {} {}; its commands need --coordinator {}\n", joined.coordinator,
                  role_name(subject.role), subject.name, joined.coordinator),
      context.output);
}

}  // namespace

void add_join_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("join", "become a member of a cluster, with a join string");
  auto state = std::make_shared<JoinState>();
  command->add_option("string", state->string, "the join string, a file that holds it, or - for standard input")
      ->required();
  command->add_option("--name", state->name, "your name in the cluster; default: USER.HOST")
      ->type_name("TEXT")
      ->group("Cluster");
  command->add_option("--coordinator", state->coordinator, "the coordinator, if it is not where the string says")
      ->type_name("HOST:PORT")
      ->group("Cluster");
  add_output_flags(*command, context.output);
  command->footer(
      "If nothing answers at the address in the string, the coordinator is looked for\n"
      "on the local network (mDNS, through Avahi). --coordinator turns that off.\n"
      "The key is made here and stays here; the certificate is kept in\n"
      "~/.config/mangrove/identities and renewed when it is used. Nodes join with\n"
      "`mangrove node --join`.\n"
      "Examples:\n"
      "  mangrove join anna.join\n"
      "  ssh server mangrove invite --role client | mangrove join -");
  command->callback([&context, state] { context.action = [&context, state] { return run_join(*state, context); }; });
}

}  // namespace mangrove::cli
