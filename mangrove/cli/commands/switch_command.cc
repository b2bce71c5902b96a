#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/base/table.h"
#include "mangrove/cli/command.h"
#include "mangrove/infer/tiers/schedulers/scheduler.h"

namespace mangrove::cli {
namespace {

struct SwitchState {
  ClusterAccess access;
  std::string scheduler;
  std::string job;
};

Status run_switch(const SwitchState& state, const CommandContext& context) {
  MG_RETURN_IF_ERROR(infer::find_scheduler(state.scheduler));
  MG_TRY(const auto client, connect_client(state.access, context.stop));
  MG_TRY(const std::string job, client->switch_scheduler(state.scheduler, state.job));
  return print_result(nlohmann::json{{"job", job}, {"scheduler", state.scheduler}},
                      fmt::format("{}: scheduler {} from now on\n", job, state.scheduler), context.output);
}

}  // namespace

void add_switch_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("switch", "change the scheduler of a running job with tiers");
  auto state = std::make_shared<SwitchState>();
  add_access_flags(*command, state->access);
  command
      ->add_option("--scheduler", state->scheduler,
                   "the scheduler that takes over: " + join_words(row_names(infer::schedulers())))
      ->required()
      ->type_name("NAME")
      ->group("Strategy");
  command->add_option("--job", state->job, "the job; needed only where several with tiers run")
      ->type_name("JOB")
      ->group("Cluster");
  add_output_flags(*command, context.output);
  command->footer(
      "Devices finish the tasks that they already have. `mangrove infer --tiers` prints\n"
      "the address of its cluster.\n"
      "Examples:\n"
      "  mangrove switch --scheduler end-edge\n"
      "  mangrove switch --coordinator 192.168.1.10:7070 --scheduler auto");
  command->callback([&context, state] { context.action = [&context, state] { return run_switch(*state, context); }; });
}

}  // namespace mangrove::cli
