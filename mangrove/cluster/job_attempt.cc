#include "mangrove/cluster/job_attempt.h"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/cluster/wire_status.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kStopGrace = 20;      // for a job to end in good order
constexpr Seconds kRolesEndWithin = 2;  // after the job, on nodes that are alive
constexpr Seconds kNodesReportEvery = 1;
constexpr Seconds kJoinCheckEvery = 0.1;  // at who has joined
constexpr int kConfirmsWithin = 10;       // silence limits: that it has heard of newcomers

/// What a node has used for this job: the messages and steps of its role there. CPU time and memory are those of the
/// whole process. Nothing: it has no role there.
std::optional<ResourceUse> use_in_job(const ResourceUse& use, const std::string& job) {
  const auto role = std::ranges::find(use.roles(), job, [](const RoleUse& one) { return one.job_id(); });
  if (role == use.roles().end()) return std::nullopt;
  ResourceUse own = use;
  *own.mutable_steps() = role->steps();
  *own.mutable_flows() = role->flows();
  own.clear_roles();
  own.set_sent_bytes(0);
  own.set_received_bytes(0);
  for (const PeerFlow& flow : role->flows()) {
    own.set_sent_bytes(own.sent_bytes() + flow.sent_bytes());
    own.set_received_bytes(own.received_bytes() + flow.received_bytes());
  }
  return own;
}

/// The node as its role begins, which has sent nothing.
Member before_its_role(Member node) {
  node.use.clear_roles();
  node.use.clear_steps();
  node.use.set_sent_bytes(0);
  node.use.set_received_bytes(0);
  return node;
}

/// The error of a job that did not find enough nodes, which tells of those that were put aside.
Error without_idle(Error error, const std::vector<std::string>& idle) {
  if (idle.empty()) return error;
  error.message += "; put aside as idle, because they did nothing in their last " + std::to_string(kMostIdleJobs) +
                   " jobs: " + join_words(idle) + " (start them again to let them in)";
  return error;
}

}  // namespace

JobAttempt::JobAttempt(std::string id, JobSpec job, const JobEnvironment& surroundings, Listener listener,
                       std::optional<std::size_t> nodes_before)
    : id_(std::move(id)),
      job_(std::move(job)),
      job_of_nodes_(cluster::job_of_nodes(job_)),
      around_(surroundings),
      listener_(std::move(listener)),
      admission_(job_, nodes_before, surroundings.clock.now()),
      frames_(surroundings.clock),
      members_(id_, surroundings.own_address,
               surroundings.credentials ? surroundings.credentials->subject().uri() : ""),
      record_(id_, surroundings.clock.now()) {}

Status JobAttempt::run() {
  const Status ended = run_whole();
  frames_.close();  // whoever waits for room
  return ended;
}

Status JobAttempt::run_whole() {
  MG_RETURN_IF_ERROR(admission_.check());
  around_.allocator.enter({.job = id_,
                           .priority = job_.priority(),
                           .share = share_of(job_),
                           .labels = {job_.labels().begin(), job_.labels().end()},
                           .wanted = admission_.least(),
                           .is_elastic = job_.has_train() && job_.nodes() == 0});
  const Result<std::vector<Member>> nodes = wait_for_nodes();
  Status led;
  if (nodes.ok()) {
    assign_ranks(*nodes);
    led = lead();
  }
  around_.allocator.leave(id_);
  return nodes.ok() ? finish(led) : Status(nodes.error());
}

Result<std::vector<Member>> JobAttempt::wait_for_nodes() {
  std::size_t joined = 0;
  bool has_told_queued = false, has_told_few = false;
  const auto pick = [&](std::vector<Member> free, std::size_t with_busy_ones) {
    joined = with_busy_ones;
    return admission_.first(std::move(free), joined, around_.clock.now());
  };
  while (true) {
    Result<std::vector<Member>> nodes = around_.allocator.begin(id_, pick);
    if (!nodes.ok()) return without_idle(nodes.error(), around_.membership.put_aside());
    if (!nodes->empty()) return nodes;
    const bool are_there = joined >= admission_.least();
    if (const auto others = around_.allocator.others_at_work(id_); are_there && !has_told_queued && !others.empty()) {
      on_report(job::event_report(Queued{others}));
      has_told_queued = true;
    }
    if (!are_there && !has_told_few) {
      on_report(job::event_report(TooFewNodes{admission_.least(), joined}));
      has_told_few = true;
    }
    MutexLock lock(mutex_);
    if (stop_requested_) return make_error(Code::cancelled, "stopped while waiting for nodes");
    changed_.wait_for(mutex_, kJoinCheckEvery);
  }
}

void JobAttempt::assign_ranks(const std::vector<Member>& nodes) {
  MutexLock lock(mutex_);
  waits_ = false;
  for (const Member& node : nodes) record_.add_node(before_its_role(node), around_.clock.now());
  members_.begin(nodes);
  // from here on member_gone() finds them; whoever went in between is found now
  for (const Member& node : nodes)
    if (!around_.membership.alive(node.id)) lose(node.id, MemberState::lost);
}

bool JobAttempt::is_for(const std::string& subject) const {
  MutexLock lock(mutex_);
  const net::Subjects subjects = members_.subjects();
  return std::ranges::any_of(subjects, [&](const auto& entry) { return entry.second == subject; });
}

/// Plays rank 0 in a thread of its own, while this one follows what happens.
Status JobAttempt::lead() {
  net::Members start;
  std::map<net::Rank, std::string> where;
  net::Subjects whose;
  {
    MutexLock lock(mutex_);
    start = members_.members();
    where = members_.addresses();
    whose = members_.subjects();
  }
  MG_TRY(const std::unique_ptr<net::Endpoint> endpoint,
         around_.transport.join(id_, 0, where, around_.own_address, start, whose));
  listener_.members(start);
  {
    MutexLock lock(mutex_);
    members_.start(start);
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
                             .frames = frames(),
                             .idle = [this](net::Rank rank, bool is_idle) { set_idle(rank, is_idle); }};
    led = run_role_guarded(around_.play, job_, context);
    MutexLock lock(mutex_);
    led_ = true;
    leader_ = nullptr;
    changed_.notify_all();
  });
  supervise(*endpoint);
  leader.join();
  count_idle();
  end_roles();
  return led;
}

void JobAttempt::supervise(net::Endpoint& endpoint) {
  Instant report_at = around_.clock.now();
  bool cancelled = false;
  while (true) {
    const std::uint64_t changes = around_.allocator.changes();
    give_up_nodes();
    admit_newcomers();
    publish();
    start_newcomers();
    leave_out_unaware();
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
    const auto has_news = [&]() MG_REQUIRES(mutex_) {
      return news_ || members_.has_changed() || record_.has_news() || around_.allocator.changes() != changes;
    };
    while (!has_news() && !led_ && around_.clock.now() < report_at) changed_.wait_for(mutex_, kJoinCheckEvery);
    news_ = false;
  }
}

void JobAttempt::end_roles() {
  MutexLock lock(mutex_);
  members_.end_roles();
  const Deadline deadline = around_.clock.after(kRolesEndWithin);
  while (!members_.all_ended() && around_.clock.now() < deadline)
    changed_.wait_for(mutex_, deadline - around_.clock.now());
}

Status JobAttempt::finish(Status led) {
  publish();
  report_nodes();  // with the last heartbeats
  std::optional<Report> result;
  {
    MutexLock lock(mutex_);
    // "no worker is left" is true and says nothing; why the first one gave up does
    const bool all_failed = members_.alive_count() == 0 && first_role_error_;
    if (!led.ok()) return led.code() != Code::cancelled && all_failed ? *first_role_error_ : led;
    MG_TRY(result, record_.take_result());
  }
  if (result) listener_.report(std::move(*result));
  return {};
}

void JobAttempt::on_report(Report report) {
  std::optional<Report> for_client;
  {
    MutexLock lock(mutex_);
    for_client = record_.take(std::move(report));
  }
  if (for_client) listener_.report(std::move(*for_client));
}

void JobAttempt::admit_newcomers() {
  MutexLock lock(mutex_);
  if (led_ || stop_requested_) return;
  const std::size_t room = admission_.room(members_.alive_count());
  if (room == 0) return;
  const auto may_come = [this](MemberId node) MG_REQUIRES(mutex_) { return members_.may_come(node); };
  for (const Member& node : around_.allocator.grow(id_, room, may_come)) {
    record_.add_node(before_its_role(node), around_.clock.now());
    add_event(kNodeJoined, node.description.name());
    members_.add(node);
  }
}

/// Jobs of higher priority wait for these.
void JobAttempt::give_up_nodes() {
  MutexLock lock(mutex_);
  if (led_) return;
  for (const MemberId node : around_.allocator.to_give_up(id_)) {
    const bool was_here = members_.give_up(node);
    if (was_here) record_.set_state(node, MemberState::left);
    if (was_here) add_event(kNodeGivenUp, members_.name(node));
    // where a role is to end, role_ended() releases the node
    if (!was_here || members_.may_come(node)) around_.allocator.release(id_, node);
  }
}

void JobAttempt::start_newcomers() {
  std::optional<net::Members> all;
  std::map<net::Rank, std::string> where;
  net::Subjects whose;
  {
    MutexLock lock(mutex_);
    all = members_.introduce();
    if (!all) return;
    where = members_.addresses();
    whose = members_.subjects();
  }
  around_.transport.set_members(id_, *all, where, whose);
  listener_.members(*all);
  MutexLock lock(mutex_);
  members_.start(*all);
}

/// A node that sends heartbeats and hears of nothing would keep newcomers out for ever.
void JobAttempt::leave_out_unaware() {
  MutexLock lock(mutex_);
  const Instant now = around_.clock.now();
  const Seconds limit = kConfirmsWithin * around_.silence_limit;
  std::map<MemberId, std::pair<std::uint64_t, Instant>> waited_for;
  for (const JobMembers::Unaware& one : members_.unaware()) {
    const auto before = unaware_.find(one.node);
    const bool is_news = before == unaware_.end() || before->second.first != one.known;
    const Instant since = is_news ? now : before->second.second;
    if (now - since <= limit) {
      waited_for[one.node] = {one.known, since};
    } else if (members_.lose(one.node)) {
      const std::string why = "it has not confirmed for " + format_seconds(limit) + " that it knows the new nodes";
      log_warn("node left out", {{"job", id_}, {"node", members_.name(one.node)}, {"message", why}});
      add_event(kNodeIdle, members_.name(one.node), why);
      around_.membership.count_job(one.node, true);
    }
  }
  unaware_ = std::move(waited_for);
}

void JobAttempt::set_idle(net::Rank rank, bool is_idle) {
  MutexLock lock(mutex_);
  idle_[rank] = is_idle;
}

void JobAttempt::count_idle() {
  MutexLock lock(mutex_);
  const std::map<net::Rank, MemberId> nodes = members_.at_work();
  for (const auto& [rank, is_idle] : idle_)
    if (const auto node = nodes.find(rank); node != nodes.end()) around_.membership.count_job(node->second, is_idle);
}

/// Tells rank 0, the nodes and the client about changes: rank 0 and the client outside of the lock, and always from the
/// thread of run().
void JobAttempt::publish() {
  std::optional<net::Members> members;
  std::vector<Report> events;
  {
    MutexLock lock(mutex_);
    events = record_.take_events();
    members = members_.publish();
  }
  if (members) {
    around_.transport.set_members(id_, *members);
    listener_.members(*members);
  }
  for (Report& event : events) listener_.report(std::move(event));
}

void JobAttempt::report_nodes() {
  const auto nodes = [&] {
    MutexLock lock(mutex_);
    return record_.nodes_report();
  };
  listener_.report(nodes());
}

// ---- news of the nodes

void JobAttempt::member_joined() {
  MutexLock lock(mutex_);
  news_ = true;
  changed_.notify_all();
}

void JobAttempt::member_gone(MemberId member, MemberState state) {
  MutexLock lock(mutex_);
  lose(member, state);
}

void JobAttempt::lose(MemberId member, MemberState state) {
  around_.allocator.release(id_, member);
  if (!members_.lose(member)) return;
  record_.set_state(member, state);
  add_event(state == MemberState::left ? kNodeLeft : kNodeLost, members_.name(member));
}

void JobAttempt::add_event(const NodeEventKind& kind, const std::string& node, const std::string& message) {
  record_.add_event(kind, node, message, around_.clock.now());
  changed_.notify_all();
}

void JobAttempt::role_ended(MemberId member, const RoleEnded& ended) {
  MutexLock lock(mutex_);
  if (ended.job_id() != id_ || !members_.end(member, ended.rank())) return;
  if (!led_) around_.allocator.release(id_, member);  // for good, or given up
  changed_.notify_all();
  // after rank 0 has ended, or when told to, a role ends as it happens to
  if (ended.code() == 0 || ended.code() == static_cast<int>(Code::cancelled) || led_ || !members_.lose(member)) return;
  const std::string& name = members_.name(member);
  const std::string message = cut_short(printable(ended.message()));
  log_warn("role failed", {{"job", id_}, {"node", name}, {"rank", ended.rank()}, {"message", message}});
  if (!first_role_error_) first_role_error_ = status_from_wire(ended.code(), name + ": " + message).error();
  add_event(kRoleFailed, name, message);
}

void JobAttempt::members_known(MemberId member, const MembersKnown& known) {
  MutexLock lock(mutex_);
  if (known.job_id() != id_) return;
  members_.know(member, known.version());
  news_ = true;
  changed_.notify_all();
}

void JobAttempt::resources_used(MemberId member, const ResourceUse& use) {
  MutexLock lock(mutex_);
  if (const auto own = use_in_job(use, id_)) record_.add_use(member, *own, around_.clock.now());
}

// ---- questions and requests

void JobAttempt::describe(const std::string& job, ListNodesResponse& response) const {
  CurrentJob& current = *response.add_jobs();
  current.set_id(job);
  current.set_kind(job_.has_train() ? "train" : "infer");
  current.set_strategy(job_.has_train() ? job_.train().strategy() : job_.infer().strategy());
  current.set_priority(job_.priority());
  current.set_share(share_of(job_));
  MutexLock lock(mutex_);
  current.set_state(waits_ ? "waiting" : "running");
  current.set_progress(record_.progress());
  for (NodeStatus& node : *response.mutable_nodes()) {
    const net::Rank rank = members_.rank_of(node.description().name());
    if (rank == 0) continue;
    NodeRole& role = *node.add_roles();
    role.set_job_id(job);
    role.set_rank(rank);
  }
}

bool JobAttempt::is_waiting() const {
  MutexLock lock(mutex_);
  return waits_;
}

std::vector<std::string> JobAttempt::events() const {
  MutexLock lock(mutex_);
  return record_.events();
}

bool JobAttempt::has_lost_everyone() const {
  MutexLock lock(mutex_);
  return led_ && members_.alive_count() == 0 && !first_role_error_ && !stop_requested_;
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
  MG_RETURN_IF_ERROR(check_switch(job_, scheduler));
  MutexLock lock(mutex_);
  if (led_ || record_.has_result() || stop_requested_)
    return make_error(Code::failed_precondition, "the job is ending");
  if (leader_ == nullptr) {
    commands_.push_back(scheduler);
  } else {
    leader_->send(0, job::kControlTag, scheduler);
  }
  return {};
}

}  // namespace mangrove::cluster
