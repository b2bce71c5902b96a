#include "mangrove/cluster/job_attempt.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/job_report.h"
#include "mangrove/infer/tiers/checks.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kStopGrace = 20;      // for a job to end in good order
constexpr Seconds kRolesEndWithin = 2;  // after the job, on nodes that are alive
constexpr Seconds kNodesReportEvery = 1;
constexpr Seconds kLookEvery = 0.1;  // at who has joined
constexpr int kMostNodes = 1'000'000;
constexpr Seconds kLongestWait = 3600;  // for nodes: nobody else has a job meanwhile
constexpr Seconds kRejoinWithin = 15;   // after a restart of the coordinator

std::string too_few_nodes(int wanted, std::size_t found, Seconds waited) {
  return std::to_string(wanted) + (wanted == 1 ? " node" : " nodes") + " asked for, " + std::to_string(found) +
         " joined within " + format_seconds(waited);
}

Status check_request(const JobSpec& job) {
  const double timeout = job.nodes_timeout_s();
  if (job.nodes() < 0 || job.nodes() > kMostNodes)
    return make_error(Code::invalid_argument, "nodes: must be from 0 to " + std::to_string(kMostNodes) + ", got " +
                                                  std::to_string(job.nodes()));
  if (!(timeout >= 0 && timeout <= kLongestWait))
    return make_error(Code::invalid_argument,
                      "nodes_timeout_s: must be from 0 to an hour, got " + std::to_string(timeout));
  return {};
}

}  // namespace

JobAttempt::JobAttempt(std::string id, JobSpec job, const JobEnvironment& surroundings, Listener listener,
                       std::optional<std::size_t> nodes_before)
    : id_(std::move(id)),
      job_(std::move(job)),
      job_of_nodes_(cluster::job_of_nodes(job_)),
      around_(surroundings),
      listener_(std::move(listener)),
      nodes_before_(nodes_before),
      began_(surroundings.clock.now()),
      frames_(surroundings.clock) {}

Status JobAttempt::run() {
  const Status ended = run_whole();
  frames_.close();  // whoever waits for room
  return ended;
}

Status JobAttempt::run_whole() {
  MG_RETURN_IF_ERROR(check_request(job_));
  MG_TRY(std::vector<Member> nodes, wait_for_nodes());
  assign_ranks(std::move(nodes));
  const Status led = lead();
  return finish(led);
}

Result<std::vector<Member>> JobAttempt::wait_for_nodes() {
  MutexLock lock(mutex_);
  while (true) {
    std::vector<Member> alive = around_.membership.alive();
    MG_TRY(const bool enough, are_enough(alive.size()));
    if (enough) {
      if (job_.nodes() != 0) alive.resize(std::min(alive.size(), static_cast<std::size_t>(job_.nodes())));
      return alive;
    }
    if (stop_requested_) return make_error(Code::cancelled, "stopped while waiting for nodes");
    changed_.wait_for(mutex_, kLookEvery);
  }
}

/// errors: it has been waited for long enough.
Result<bool> JobAttempt::are_enough(std::size_t found) const {
  const Seconds waited = around_.clock.now() - began_;
  if (nodes_before_) return found > 0 && (found >= *nodes_before_ || waited >= kRejoinWithin);
  const auto wanted = static_cast<std::size_t>(job_.nodes());
  if (found >= std::max<std::size_t>(wanted, 1)) return true;
  if (wanted == 0) return make_error(Code::failed_precondition, "no nodes have joined");
  if (waited >= job_.nodes_timeout_s())
    return make_error(Code::deadline_exceeded, too_few_nodes(job_.nodes(), found, job_.nodes_timeout_s()));
  return false;
}

void JobAttempt::assign_ranks(std::vector<Member> nodes) {
  MutexLock lock(mutex_);
  const Instant now = around_.clock.now();
  for (Member& node : nodes) {
    usage_.add(node.id, node.description.name(), node.use, now);
    workers_.push_back({std::move(node)});
  }
  // from here on member_gone() finds them; whoever went in between is found now
  for (Worker& worker : workers_)
    if (!around_.membership.alive(worker.member.id)) lose(worker, MemberState::lost);
}

void JobAttempt::start_role(std::size_t worker) {
  ToNode message;
  StartRole& role = *message.mutable_start_role();
  role.set_job_id(id_);
  role.set_rank(static_cast<int>(worker) + 1);
  fill_ranks(*role.mutable_ranks());
  workers_[worker].member.link->send(std::move(message));
}

/// Plays rank 0 in a thread of its own, while this one follows what happens.
Status JobAttempt::lead() {
  net::Members start;
  std::map<net::Rank, std::string> where;
  {
    MutexLock lock(mutex_);
    start = members();
    where = addresses();
  }
  MG_TRY(const std::unique_ptr<net::Endpoint> endpoint,
         around_.transport.join(id_, 0, where, around_.own_address, start));
  listener_.members(start);
  {
    MutexLock lock(mutex_);
    for (; started_ < workers_.size(); ++started_) start_role(started_);
    leader_ = endpoint.get();
    for (const std::string& command : commands_) leader_->send(0, job::kControlTag, command);
  }
  Status led;
  std::jthread leader([&] {
    job::RoleContext context{.endpoint = *endpoint,
                             .clock = around_.clock,
                             .device = device_,
                             .data_folder = around_.data_folder,
                             .threads = 1,
                             .stop = stop_.get_token(),
                             .report = [this](Report report) { on_report(std::move(report)); },
                             .frames = frames()};
    led = run_role_guarded(around_.play, job_, context);
    MutexLock lock(mutex_);
    led_ = true;
    leader_ = nullptr;
    changed_.notify_all();
  });
  supervise(*endpoint);
  leader.join();
  end_roles();
  return led;
}

void JobAttempt::supervise(net::Endpoint& endpoint) {
  Instant report_at = around_.clock.now();
  bool cancelled = false;
  while (true) {
    admit_newcomers();
    publish_members();
    start_newcomers();
    if (around_.clock.now() >= report_at) {
      report_nodes();
      report_at = report_at + kNodesReportEvery;
    }
    MutexLock lock(mutex_);
    if (led_) return;
    const Instant now = around_.clock.now();
    if (stop_requested_ && !cancelled && now - *stop_requested_ > kStopGrace) {
      log_warn("job does not stop in good order: cancelled", {{"job", id_}});
      endpoint.cancel();
      cancelled = true;
    }
    const bool news = std::exchange(news_, false) || version_ != published_ || !unsent_events_.empty();
    if (!news) changed_.wait_for(mutex_, std::clamp(report_at - now, 0.0, kNodesReportEvery));
  }
}

void JobAttempt::end_roles() {
  MutexLock lock(mutex_);
  workers_.resize(started_);  // who was never given its role has nothing to end
  for (const Worker& worker : workers_) {
    ToNode message;
    message.mutable_end_role()->set_job_id(id_);
    worker.member.link->send(std::move(message));
  }
  const Deadline deadline = around_.clock.after(kRolesEndWithin);
  const auto all_ended = [&]() MG_REQUIRES(mutex_) {
    return std::all_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.ended || w.gone; });
  };
  while (!all_ended() && around_.clock.now() < deadline) changed_.wait_for(mutex_, deadline - around_.clock.now());
}

Status JobAttempt::finish(Status led) {
  publish_members();
  report_nodes();  // with the last heartbeats
  MutexLock lock(mutex_);
  if (!led.ok()) {
    const bool nobody_left = std::all_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.gone; });
    // "no worker is left" is true and says nothing; why the first one gave up does
    if (led.code() != Code::cancelled && nobody_left && first_role_error_) return *first_role_error_;
    return led;
  }
  if (!result_) return {};
  MG_TRY(std::string json, complete_result(result_->json, usage_.overall(), events_));
  result_->json = std::move(json);
  listener_.report(std::move(*result_));
  return {};
}

void JobAttempt::on_report(Report report) {
  if (report.kind == "result") {
    // it goes out when the last heartbeats are counted
    MutexLock lock(mutex_);
    result_ = std::move(report);
    return;
  }
  if (report.kind == "event" || report.kind == "progress") {
    MutexLock lock(mutex_);
    if (report.kind == "event") events_.push_back(report.json);
    if (report.kind == "progress") progress_ = report.json;
  }
  listener_.report(std::move(report));
}

void JobAttempt::request_stop() {
  {
    MutexLock lock(mutex_);
    if (stop_requested_) return;
    stop_requested_ = around_.clock.now();
    changed_.notify_all();
  }
  stop_.request_stop();
}

Status JobAttempt::switch_scheduler(const std::string& scheduler) {
  MG_RETURN_IF_ERROR(infer::check_switch(job_.infer(), scheduler));
  MutexLock lock(mutex_);
  if (led_ || result_ || stop_requested_) return make_error(Code::failed_precondition, "the job is ending");
  if (leader_ == nullptr) {
    commands_.push_back(scheduler);
  } else {
    leader_->send(0, job::kControlTag, scheduler);
  }
  return {};
}

}  // namespace mangrove::cluster
