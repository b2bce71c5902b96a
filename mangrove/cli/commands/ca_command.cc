#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/base/stop.h"
#include "mangrove/cli/command.h"
#include "mangrove/identity/peek.h"
#include "mangrove/identity/wall_time.h"

namespace mangrove::cli {
namespace {

constexpr Seconds kShownWithin = 30;  // the coordinator looks every few seconds whether its certificate was renewed
constexpr Seconds kLookForRenewalEvery = 0.2;

/// Waits until the coordinator shows the new authority: before that, nobody can join with a string that names it.
Status wait_until_shown(const std::string& coordinator, const std::string& authority, const std::stop_token& stop) {
  const SteadyClock clock;
  const Deadline deadline = clock.after(kShownWithin);
  while (true) {
    MG_TRY(const auto shown, identity::peek_certificates(coordinator, deadline, stop));
    if (shown && std::ranges::any_of(*shown, [&](const auto& one) { return one.hash() == authority; })) return {};
    if (clock.now() >= deadline || wait_for_stop(stop, kLookForRenewalEvery))
      return make_error(Code::deadline_exceeded,
                        "the coordinator at " + coordinator + " does not show its new authority yet");
  }
}

Status rotate(const ClusterAccess& access, const CommandContext& context) {
  MG_TRY(const auto client, connect_client(access, context.stop));
  MG_TRY(const cluster::ReplaceAuthorityResponse made, client->replace_authority());
  MG_RETURN_IF_ERROR(wait_until_shown(client->coordinator(), made.authority(), context.stop));
  const std::string until = identity::to_text(identity::WallTime(std::chrono::seconds(made.former_until())));
  return print_result(
      nlohmann::json{{"authority", made.authority()}, {"former_until", made.former_until()}},
      fmt::format("authority {} signs from now on; the one before it is believed until {}\n", made.authority(), until),
      context.output);
}

}  // namespace

void add_ca_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("ca", "replace the certificate authority of a cluster");
  command->require_subcommand(1);
  auto* rotate_command = command->add_subcommand("rotate", "have another authority sign from now on");
  auto access = std::make_shared<ClusterAccess>();
  add_access_flags(*rotate_command, *access);
  add_output_flags(*rotate_command, context.output);
  rotate_command->footer(
      "For admins. Jobs go on. The key of the old authority is deleted; it has vouched\n"
      "for the new one, so that members believe both until the last certificate of the\n"
      "old one has expired, after 30 days. They get certificates of the new one when\n"
      "theirs are renewed. Earlier join strings work as long as the old authority\n"
      "is trusted.\n"
      "Examples:\n  mangrove ca rotate --coordinator 192.168.1.10:7070");
  rotate_command->callback(
      [&context, access] { context.action = [&context, access] { return rotate(*access, context); }; });
}

}  // namespace mangrove::cli
