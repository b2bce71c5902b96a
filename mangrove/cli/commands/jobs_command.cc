#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "mangrove/base/printable.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/job_runner.h"
#include "mangrove/cli/reports/run_facts.h"
#include "mangrove/cli/reports/summary.h"
#include "mangrove/cli/run_result.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

struct State {
  ClusterAccess access;
  std::string follow;
  std::string stop;
  std::string run_dir;
};

Status list(const std::vector<cluster::JobStatus>& jobs, const OutputOptions& output) {
  json rows = json::array();
  std::string table = fmt::format("{:<20} {:<8} {:>6} {:>7} {:>8}  {:<19}  {}\n", "job", "state", "starts", "epoch",
                                  "step", "began (UTC)", "what");
  for (const cluster::JobStatus& job : jobs) {
    rows.push_back({{"id", job.id()},
                    {"title", job.title()},
                    {"state", job.state()},
                    {"starts", job.starts()},
                    {"epoch", job.epoch()},
                    {"step", job.step()},
                    {"message", job.message()},
                    {"began", job.began()},
                    {"ended", job.ended()},
                    {"nodes", job.nodes()}});
    const std::string what = printable(job.message().empty() ? job.title() : job.title() + ": " + job.message());
    table += fmt::format("{:<20} {:<8} {:>6} {:>7} {:>8}  {:<19}  {}\n", job.id(), job.state(), job.starts(),
                         job.epoch(), job.step(), job.began(), what);
  }
  return print_result(json{{"jobs", rows}}, table, output);
}

Status follow(const State& state, cluster::Client& client, const std::vector<cluster::JobStatus>& jobs,
              CommandContext& context) {
  const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const auto& one) { return one.id() == state.follow; });
  if (job == jobs.end())
    return make_error(Code::not_found, "follow: the coordinator at " + state.access.coordinator + " knows no job '" +
                                           state.follow + "'; see: mangrove jobs --coordinator " +
                                           state.access.coordinator);
  MG_TRY(RunFolder folder, RunFolder::create(state.run_dir, "job"));
  folder.append_metrics();
  ClusterSession session(context.output.quiet);
  JobContext run{session, folder, context.output, context.stop};
  MG_TRY(json result, follow_job(client, state.follow, run));
  RunFacts facts;
  facts.model = job->id();
  facts.data = job->title();
  facts.add_to(result);
  const std::string kind = job->title().starts_with("infer") ? "infer" : "train";
  return leave_result(result, summary_table({{kind, result}}), folder, context);
}

Status stop(const State& state, cluster::Client& client, CommandContext& context) {
  MG_TRY(const std::string how, client.stop_job(state.stop, context.stop));
  return print_result(json{{"job", state.stop}, {"message", how}}, state.stop + ": " + how + "\n", context.output);
}

Status run(const State& state, CommandContext& context) {
  MG_TRY(const auto client, connect_client(state.access, context.stop));
  if (!state.stop.empty()) return stop(state, *client, context);
  MG_TRY(const auto jobs, client->jobs());
  return state.follow.empty() ? list(jobs, context.output) : follow(state, *client, jobs, context);
}

}  // namespace

void add_jobs_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("jobs", "list the jobs that a coordinator keeps, follow or stop one");
  auto state = std::make_shared<State>();
  add_access_flags(*command, state->access);
  CLI::Option* const follow_flag =
      command->add_option("--follow", state->follow, "follow this job to its end and fetch its results")
          ->type_name("JOB")
          ->group("Cluster");
  command->add_option("--stop", state->stop, "stop this job; a training leaves a checkpoint")
      ->type_name("JOB")
      ->group("Cluster")
      ->excludes(follow_flag);
  command->add_option("--run-dir", state->run_dir, "with --follow: folder for the results; default: runs/job-TIME")
      ->type_name("FOLDER")
      ->group("Output");
  add_output_flags(*command, context.output);
  command->footer(
      "Examples:\n"
      "  mangrove jobs --coordinator 192.168.1.10:7070\n"
      "  mangrove jobs --follow job-1f3a9c27-1 --run-dir runs/mine\n"
      "  mangrove jobs --stop job-1f3a9c27-1\n"
      "Ctrl-C ends only --follow: the job goes on.\n"
      "Only a coordinator that was started with --state FOLDER keeps jobs. They go on\n"
      "when their client is gone, and after a restart of the coordinator.");
  command->callback([&context, state] { context.action = [&context, state] { return run(*state, context); }; });
}

}  // namespace mangrove::cli
