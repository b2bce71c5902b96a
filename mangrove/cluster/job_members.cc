// JobAttempt's view of its nodes: who is alive, what they use, and telling everybody.
#include <algorithm>

#include "mangrove/base/log.h"
#include "mangrove/cluster/job_attempt.h"
#include "mangrove/cluster/job_report.h"
#include "mangrove/cluster/wire_status.h"

namespace mangrove::cluster {

void JobAttempt::member_joined() {
  MutexLock lock(mutex_);
  news_ = true;
  changed_.notify_all();
}

void JobAttempt::members_known(MemberId member, const MembersKnown& known) {
  MutexLock lock(mutex_);
  Worker* worker = find(member);
  if (worker == nullptr || known.job_id() != id_) return;
  worker->known = std::max(worker->known, std::min(known.version(), version_));
  news_ = true;
  changed_.notify_all();
}

/// Nodes that have joined since the job began, and those that it did not need until it lost one.
void JobAttempt::admit_newcomers() {
  if (!job_.has_train()) return;  // a pipeline is planned for the nodes that there are
  MutexLock lock(mutex_);
  const auto wanted = static_cast<std::size_t>(job_.nodes());
  for (Member& node : around_.membership.alive()) {
    if (led_ || stop_requested_ || (wanted != 0 && alive_workers() >= wanted)) return;
    if (find(node.id) != nullptr) continue;
    usage_.add(node.id, node.description.name(), node.use, around_.clock.now());
    add_event("node_joined", node.description.name(), "");
    workers_.push_back({std::move(node)});
    introduction_ = ++version_;
  }
}

/// A newcomer begins when all others know it: then nobody has to do with a rank that it has not heard of.
void JobAttempt::start_newcomers() {
  net::Members all;
  std::map<net::Rank, std::string> where;
  {
    MutexLock lock(mutex_);
    if (started_ == workers_.size()) return;
    const auto first = workers_.begin(), newcomers = first + static_cast<std::ptrdiff_t>(started_);
    const bool all_know = std::all_of(first, newcomers, [&](const Worker& worker) MG_REQUIRES(mutex_) {
      return worker.gone || worker.ended || worker.known >= introduction_;
    });
    if (!all_know) return;
    ++version_;  // of what rank 0 knows
    all = members();
    where = addresses();
  }
  around_.transport.set_members(id_, all, where);
  listener_.members(all);
  MutexLock lock(mutex_);
  for (; started_ + 1 < all.all.size(); ++started_) start_role(started_);
}

void JobAttempt::member_gone(MemberId member, MemberState state) {
  MutexLock lock(mutex_);
  Worker* worker = find(member);
  if (worker == nullptr || worker->gone) return;
  lose(*worker, state);
}

void JobAttempt::role_ended(MemberId member, const RoleEnded& ended) {
  MutexLock lock(mutex_);
  Worker* worker = find(member);
  if (worker == nullptr || ended.job_id() != id_) return;
  worker->ended = true;
  changed_.notify_all();
  // after rank 0 has ended, or when told to, a role ends as it happens to
  if (ended.code() == 0 || ended.code() == static_cast<int>(Code::cancelled) || led_ || worker->gone) return;
  const std::string& name = worker->member.description.name();
  log_warn("role failed", {{"job", id_}, {"node", name}, {"rank", ended.rank()}, {"message", ended.message()}});
  if (!first_role_error_) first_role_error_ = status_from_wire(ended.code(), name + ": " + ended.message()).error();
  worker->gone = true;
  ++version_;
  add_event("role_failed", name, ended.message());
}

void JobAttempt::resources_used(MemberId member, const ResourceUse& use) {
  MutexLock lock(mutex_);
  usage_.sample(member, use, around_.clock.now());
}

void JobAttempt::lose(Worker& worker, MemberState state) {
  worker.gone = true;
  ++version_;
  usage_.set_state(worker.member.id, member_state_name(state));
  add_event(std::string("node_") + member_state_name(state), worker.member.description.name(), "");
}

void JobAttempt::add_event(const std::string& event, const std::string& node, const std::string& message) {
  const std::string json = event_json(event, node, around_.clock.now() - began_, message);
  events_.push_back(json);
  unsent_events_.push_back(json);
  changed_.notify_all();
}

/// Tells rank 0, the nodes and the client about changes, outside of the lock and always from the thread of run(). Rank
/// 0 hears of newcomers when they begin.
void JobAttempt::publish_members() {
  net::Members news;
  std::vector<std::string> events;
  {
    MutexLock lock(mutex_);
    events.swap(unsent_events_);
    if (published_ != version_) news = members();
    published_ = version_;
    if (!news.all.empty()) {
      ToNode message;
      MembersChanged& changed = *message.mutable_members_changed();
      changed.set_job_id(id_);
      changed.set_version(version_);
      fill_ranks(*changed.mutable_ranks());
      for (std::size_t i = 0; i < started_; ++i)
        if (!workers_[i].gone) workers_[i].member.link->send(message);
      news.all.resize(started_ + 1);
    }
  }
  if (!news.all.empty()) {
    around_.transport.set_members(id_, news);
    listener_.members(news);
  }
  for (std::string& event : events) listener_.report({.kind = "event", .json = std::move(event), .attachment = {}});
}

void JobAttempt::report_nodes() {
  std::string json;
  {
    MutexLock lock(mutex_);
    json = nodes_json(usage_.now(), usage_.take_samples(), id_, began_);
  }
  listener_.report({.kind = "nodes", .json = std::move(json), .attachment = {}});
}

void JobAttempt::describe(ListNodesResponse& response) const {
  CurrentJob& job = *response.mutable_job();
  job.set_id(id_);
  job.set_kind(job_.has_train() ? "train" : "infer");
  job.set_strategy(job_.has_train() ? job_.train().strategy() : job_.infer().strategy());
  MutexLock lock(mutex_);
  job.set_progress(progress_);
  for (NodeStatus& node : *response.mutable_nodes()) {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      const bool is_it = workers_[i].member.description.name() == node.description().name();
      if (is_it && !workers_[i].gone) node.set_rank(static_cast<int>(i) + 1);
    }
  }
}

JobAttempt::Worker* JobAttempt::find(MemberId member) {
  const auto found =
      std::find_if(workers_.begin(), workers_.end(), [&](const Worker& worker) { return worker.member.id == member; });
  return found == workers_.end() ? nullptr : &*found;
}

bool JobAttempt::has_lost_everyone() const {
  MutexLock lock(mutex_);
  return led_ && !workers_.empty() && alive_workers() == 0 && !first_role_error_ && !stop_requested_;
}

std::size_t JobAttempt::alive_workers() const {
  return static_cast<std::size_t>(
      std::count_if(workers_.begin(), workers_.end(), [](const Worker& worker) { return !worker.gone; }));
}

net::Members JobAttempt::members() const {
  net::Members all{.version = version_, .all = {{0, "coordinator", true}}};
  for (std::size_t i = 0; i < workers_.size(); ++i)
    all.all.push_back({static_cast<net::Rank>(i) + 1, workers_[i].member.description.name(), !workers_[i].gone});
  return all;
}

std::map<net::Rank, std::string> JobAttempt::addresses() const {
  std::map<net::Rank, std::string> found{{0, around_.own_address}};
  for (std::size_t i = 0; i < workers_.size(); ++i)
    found[static_cast<net::Rank>(i) + 1] = workers_[i].member.description.address();
  return found;
}

void JobAttempt::fill_ranks(google::protobuf::RepeatedPtrField<RankAddress>& ranks) const {
  const std::map<net::Rank, std::string> where = addresses();
  for (const net::Member& member : members().all) {
    RankAddress& rank = *ranks.Add();
    rank.set_rank(member.rank);
    rank.set_name(member.name);
    rank.set_alive(member.alive);
    rank.set_address(where.at(member.rank));
  }
}

}  // namespace mangrove::cluster
