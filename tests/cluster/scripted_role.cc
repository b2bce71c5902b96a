#include "tests/cluster/scripted_role.h"

#include <stdexcept>

namespace mangrove::cluster {
namespace {

constexpr net::Tag kQuestion = 1;
constexpr net::Tag kAnswer = 2;
constexpr Seconds kPatience = 20;
constexpr Seconds kSlice = 0.02;

/// Answers until the job ends.
Status play_worker(job::RoleContext& context) {
  while (true) {
    const Result<net::Message> question = context.endpoint.recv({0}, kQuestion, context.clock.after(kPatience));
    if (!question.ok()) return question.error();
    context.endpoint.send(0, kAnswer, question->payload);
  }
}

Status echo(job::RoleContext& context) {
  int answers = 0;
  for (const net::Rank rank : context.endpoint.members().alive_ranks()) {
    if (rank == 0) continue;
    // twice: the first answer has surely been counted when the second comes
    for (int round = 0; round < 2; ++round) {
      context.endpoint.send(rank, kQuestion, std::string(1000, 'x'));
      MG_RETURN_IF_ERROR(context.endpoint.recv({rank}, kAnswer, context.clock.after(kPatience)));
    }
    ++answers;
  }
  context.report(
      {.kind = ReportKind::result, .json = "{\"answers\":" + std::to_string(answers) + "}", .attachment = "model"});
  return {};
}

/// Waits until no more than `alive` of the workers are, or the job is stopped.
Status await_alive(job::RoleContext& context, std::size_t alive) {
  const Deadline deadline = context.clock.after(kPatience);
  while (context.endpoint.members().alive_ranks().size() > alive + 1) {
    if (context.clock.now() > deadline) return make_error(Code::deadline_exceeded, "nobody was lost");
    context.clock.sleep_until(context.clock.after(kSlice));
  }
  return {};
}

/// Waits until the job has more ranks than when it began.
Status await_join(job::RoleContext& context) {
  const Deadline deadline = context.clock.after(kPatience);
  const int size = context.endpoint.size();
  while (context.endpoint.size() == size) {
    if (context.clock.now() > deadline) return make_error(Code::deadline_exceeded, "nobody joined");
    context.clock.sleep_until(context.clock.after(kSlice));
  }
  return {};
}

Status endless(job::RoleContext& context, bool heeds_stop) {
  while (!heeds_stop || !context.stop.stop_requested()) {
    context.report({.kind = ReportKind::progress, .json = "{}", .attachment = {}});
    const auto message = context.endpoint.recv({0}, kAnswer, context.clock.after(kSlice));
    if (!message.ok() && message.code() == Code::cancelled) return message.error();
  }
  context.report({.kind = ReportKind::checkpoint, .json = "{}", .attachment = std::string(100'000, 'c')});
  return make_error(Code::cancelled, "stopped");
}

/// Reports an epoch and a checkpoint and goes on until it is stopped; resumed, it comes to its end.
Status resumable(const std::string& resume_from, job::RoleContext& context) {
  if (!resume_from.empty()) {
    const std::string size = std::to_string(resume_from.size());
    context.report(
        {.kind = ReportKind::event, .json = R"({"event":"resumed","bytes":)" + size + "}", .attachment = {}});
    return echo(context);
  }
  context.report({.kind = ReportKind::epoch, .json = R"({"epoch":1,"loss":0.5})", .attachment = {}});
  context.report({.kind = ReportKind::checkpoint, .json = R"({"epoch":1,"step":5})", .attachment = "step 5"});
  return endless(context, true);
}

}  // namespace

Status scripted_role(const JobSpec& job, job::RoleContext& context) {
  const std::string& script = job.train().strategy();
  const net::Rank rank = context.endpoint.rank();
  const auto workers = static_cast<std::size_t>(context.endpoint.size()) - 1;
  const bool bad = script == "bad_data" || (script == "bad_node_1" && rank == 1);
  if (rank != 0) return bad ? Status(make_error(Code::not_found, "data set 'x' is not here")) : play_worker(context);
  if (script == "endless" || script == "stubborn") return endless(context, script == "endless");
  if (script == "resumable_alone" && job.train().resume_from().empty()) {
    context.report({.kind = ReportKind::checkpoint, .json = R"({"epoch":0,"step":5})", .attachment = "step 5"});
    MG_RETURN_IF_ERROR(await_alive(context, 0));
    return make_error(Code::unavailable, "no worker is left");
  }
  if (script == "resumable") return resumable(job.train().resume_from(), context);
  if (script == "rank_2_is_idle") {
    context.idle(1, false);
    context.idle(2, true);
  }
  if (script == "throws") throw std::runtime_error("surprise");
  if (script == "bad_data") {
    MG_RETURN_IF_ERROR(await_alive(context, 0));
    return make_error(Code::unavailable, "no worker is left");
  }
  if (script == "bad_node_1" || script == "await_loss") MG_RETURN_IF_ERROR(await_alive(context, workers - 1));
  if (script == "epochs") {
    for (const char* epoch : {R"({"epoch":1,"loss":0.5})", R"({"epoch":2,"loss":0.3})", R"({"epoch":2,"loss":0.25})"})
      context.report({.kind = ReportKind::epoch, .json = epoch, .attachment = "network"});
    context.report({.kind = ReportKind::event, .json = R"({"event":"resumed"})", .attachment = {}});
  }
  if (script == "await_join" || script == "epochs") MG_RETURN_IF_ERROR(await_join(context));
  return echo(context);
}

JobSpec scripted_job(const std::string& script, int nodes, Seconds nodes_timeout) {
  JobSpec job;
  job.mutable_train()->set_strategy(script);
  job.set_nodes(nodes);
  job.set_nodes_timeout_s(nodes_timeout);
  return job;
}

}  // namespace mangrove::cluster
