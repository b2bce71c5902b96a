// JobRun's view of its nodes: who is alive, what they use, and telling everybody.
#include <algorithm>

#include "mangrove/base/log.h"
#include "mangrove/cluster/job_report.h"
#include "mangrove/cluster/job_run.h"
#include "mangrove/cluster/wire_status.h"

namespace mangrove::cluster {

void JobRun::member_joined() {
  MutexLock lock(mutex_);
  changed_.notify_all();
}

void JobRun::member_gone(MemberId member, MemberState state) {
  MutexLock lock(mutex_);
  Worker* worker = find(member);
  if (worker == nullptr || worker->gone) return;
  lose(*worker, state);
}

void JobRun::role_ended(MemberId member, const RoleEnded& ended) {
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

void JobRun::resources_used(MemberId member, const ResourceUse& use) {
  MutexLock lock(mutex_);
  usage_.sample(member, use, around_.clock.now());
}

void JobRun::lose(Worker& worker, MemberState state) {
  worker.gone = true;
  ++version_;
  usage_.set_state(worker.member.id, member_state_name(state));
  add_event(std::string("node_") + member_state_name(state), worker.member.description.name(), "");
}

void JobRun::add_event(const std::string& event, const std::string& node, const std::string& message) {
  const std::string json = event_json(event, node, around_.clock.now() - began_, message);
  events_.push_back(json);
  unsent_events_.push_back(json);
  changed_.notify_all();
}

/// Tells rank 0, the nodes and the client about changes, outside of the lock and always from the thread of run().
void JobRun::publish_members() {
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
      for (const Worker& worker : workers_)
        if (!worker.gone) worker.member.link->send(message);
    }
  }
  if (!news.all.empty()) around_.transport.set_members(id_, news);
  for (std::string& event : events) report_({.kind = "event", .json = std::move(event), .attachment = {}});
}

void JobRun::report_nodes() {
  std::string json;
  {
    MutexLock lock(mutex_);
    json = nodes_json(usage_.now(), usage_.take_samples(), id_, began_);
  }
  report_({.kind = "nodes", .json = std::move(json), .attachment = {}});
}

void JobRun::describe(ListNodesResponse& response) const {
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

JobRun::Worker* JobRun::find(MemberId member) {
  const auto found =
      std::find_if(workers_.begin(), workers_.end(), [&](const Worker& worker) { return worker.member.id == member; });
  return found == workers_.end() ? nullptr : &*found;
}

net::Members JobRun::members() const {
  net::Members all{.version = version_, .all = {{0, "coordinator", true}}};
  for (std::size_t i = 0; i < workers_.size(); ++i)
    all.all.push_back({static_cast<net::Rank>(i) + 1, workers_[i].member.description.name(), !workers_[i].gone});
  return all;
}

void JobRun::fill_ranks(google::protobuf::RepeatedPtrField<RankAddress>& ranks) const {
  for (const net::Member& member : members().all) {
    RankAddress& rank = *ranks.Add();
    rank.set_rank(member.rank);
    rank.set_name(member.name);
    rank.set_alive(member.alive);
    rank.set_address(member.rank == 0
                         ? around_.own_address
                         : workers_[static_cast<std::size_t>(member.rank) - 1].member.description.address());
  }
}

}  // namespace mangrove::cluster
