#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "mangrove/base/format.h"
#include "mangrove/base/printable.h"
#include "mangrove/cli/command.h"
#include "mangrove/cli/job_runner.h"
#include "mangrove/cli/reports/event_text.h"
#include "mangrove/cli/reports/progress.h"
#include "mangrove/cli/reports/run_facts.h"
#include "mangrove/cli/reports/summary.h"
#include "mangrove/cli/run_result.h"
#include "mangrove/cluster/cluster_status.h"
#include "mangrove/job/json_fields.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr int kProgressColumns = 100;

struct JobState {
  ClusterAccess access;
  std::string id;
  std::string run_dir;
};

using Action = Status(const JobState& state, cluster::Client& client, CommandContext& context);

/// errors: not_found (says where to look), those of Client::jobs().
Result<cluster::JobStatus> find_job(const JobState& state, cluster::Client& client) {
  MG_TRY(const auto jobs, client.jobs());
  const auto job = std::ranges::find(jobs, state.id, [](const cluster::JobStatus& one) { return one.id(); });
  if (job != jobs.end()) return *job;
  return make_error(Code::not_found, "the coordinator at " + state.access.coordinator + " knows no job '" + state.id +
                                         "'; see: mangrove jobs --coordinator " + state.access.coordinator);
}

Status show_job(const JobState& state, cluster::Client& client, CommandContext& context) {
  MG_TRY(const cluster::JobStatus job, find_job(state, client));
  MG_TRY(const cluster::ListNodesResponse status, client.status(context.stop));
  json facts = cluster::job_json(job);
  std::string text;
  const auto line = [&text](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<10} {}\n", name, printable(value));
  };
  line("job", job.id());
  line("what", job.title());
  line("state", job.state());
  line("message", job.message());
  line("began", job.began().empty() ? "" : job.began() + " UTC");
  line("ended", job.ended().empty() ? "" : job.ended() + " UTC");
  const auto live = std::ranges::find(status.jobs(), job.id(), [](const cluster::CurrentJob& one) { return one.id(); });
  if (live == status.jobs().end()) {
    line("nodes", job.nodes());
    return print_result(facts, text, context.output);
  }
  std::string nodes;
  for (const cluster::RankedNode& node : cluster::nodes_of(job.id(), status))
    nodes += fmt::format("{}{} ({})", nodes.empty() ? "" : ", ", node.name, node.rank);
  facts.update(cluster::live_job_json(job.id(), status));
  line("priority", std::to_string(live->priority()));
  line("share", format_percent(live->share(), 0) + " of each node");
  line("nodes", nodes.empty() ? "none yet" : nodes);
  if (const auto progress = job::parse_json<job::Progress>(live->progress()); progress.ok())
    line("progress", progress_line(*progress, kProgressColumns));
  return print_result(facts, text, context.output);
}

Status logs(const JobState& state, cluster::Client& client, CommandContext& context) {
  MG_TRY(const std::vector<std::string> events, client.events(state.id));
  json list = json::array();
  std::string text;
  for (const std::string& one : events) {
    json event = json::parse(one, nullptr, /*allow_exceptions=*/false);
    if (!event.is_object()) continue;
    const EventText told = event_text(event);
    list.push_back(std::move(event));
    if (told.line.empty()) continue;  // all is as it should be
    text += fmt::format("{:>9}  {}{}\n", told.time ? format_seconds(*told.time) : "",
                        told.is_warning ? "warning: " : "", told.line);
  }
  if (text.empty()) text = "nothing has happened to job " + printable(state.id) + " that is worth a line\n";
  return print_result(json{{"job", state.id}, {"events", list}}, text, context.output);
}

Status follow(const JobState& state, cluster::Client& client, CommandContext& context) {
  MG_TRY(const cluster::JobStatus job, find_job(state, client));
  MG_TRY(RunFolder folder, RunFolder::create(state.run_dir, "job"));
  folder.append_metrics();
  ClusterSession session(context.output.quiet);
  JobContext run{session, folder, context.output, context.stop};
  MG_TRY(json result, follow_job(client, state.id, run));
  RunFacts facts;
  facts.model = job.id();
  facts.data = job.title();
  facts.add_to(result);
  const std::string kind = job.title().starts_with("infer") ? "infer" : "train";
  return leave_result(result, summary_table({{kind, result}}), folder, context);
}

Status stop(const JobState& state, cluster::Client& client, CommandContext& context) {
  MG_TRY(const std::string how, client.stop_job(state.id, context.stop));
  return print_result(json{{"job", state.id}, {"message", how}}, state.id + ": " + how + "\n", context.output);
}

CLI::App* add_job_action(CLI::App& command, CommandContext& context, const std::shared_ptr<JobState>& state,
                         const char* name, const char* help, Action* action) {
  auto* one = command.add_subcommand(name, help);
  one->add_option("job", state->id, "its id, as `mangrove jobs` lists it")->required()->type_name("JOB");
  add_access_flags(*one, state->access);
  add_output_flags(*one, context.output);
  one->callback([&context, state, action] {
    context.action = [&context, state, action]() -> Status {
      MG_TRY(const auto client, connect_client(state->access, context.stop));
      return action(*state, *client, context);
    };
  });
  return one;
}

}  // namespace

void add_job_command(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("job", "show, follow or stop a job of a running cluster");
  command->require_subcommand(1);
  auto state = std::make_shared<JobState>();
  add_job_action(*command, context, state, "show", "show how far a job is and which nodes it has", &show_job)
      ->footer("Examples:\n  mangrove job show job-1f3a9c27-1");
  add_job_action(*command, context, state, "logs", "show what has happened to a job and its nodes", &logs)
      ->footer("Examples:\n  mangrove job logs job-1f3a9c27-1\n  mangrove job logs job-1f3a9c27-1 --json");
  auto* followed =
      add_job_action(*command, context, state, "follow", "follow a job to its end and fetch its results", &follow);
  followed->add_option("--run-dir", state->run_dir, "folder for the results; default: runs/job-TIME")
      ->type_name("FOLDER")
      ->group("Output");
  followed->footer(
      "Examples:\n"
      "  mangrove job follow job-1f3a9c27-1 --run-dir runs/mine\n"
      "Ctrl-C ends only the following: the job goes on.");
  add_job_action(*command, context, state, "stop", "stop a job in good order; a training leaves a checkpoint", &stop)
      ->footer("Examples:\n  mangrove job stop job-1f3a9c27-1 --coordinator 192.168.1.10:7070");
  command->footer(
      "Examples:\n"
      "  mangrove job show job-1f3a9c27-1\n"
      "  mangrove job follow job-1f3a9c27-1 --run-dir runs/mine\n"
      "  mangrove job stop job-1f3a9c27-1\n"
      "`mangrove jobs` lists them.");
}

}  // namespace mangrove::cli
