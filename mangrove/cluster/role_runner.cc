#include "mangrove/cluster/role_runner.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "mangrove/base/log.h"
#include "mangrove/base/process_cpu.h"
#include "mangrove/cluster/wire_status.h"
#include "mangrove/net/node_name.h"

namespace mangrove::cluster {
namespace {

using Ranks = google::protobuf::RepeatedPtrField<RankAddress>;

/// errors: invalid_argument (ranks are not 0 .. P-1 in order).
Result<net::Members> read_members(const Ranks& ranks, std::uint64_t version) {
  net::Members members{.version = version, .all = {}};
  for (const RankAddress& rank : ranks) {
    if (rank.rank() != static_cast<int>(members.all.size()))
      return make_error(Code::invalid_argument, "rank " + std::to_string(rank.rank()) + " found, rank " +
                                                    std::to_string(members.all.size()) + " expected");
    members.all.push_back({rank.rank(), rank.name(), rank.alive()});
  }
  return members;
}

RoleEnded ended_message(const std::string& job_id, net::Rank rank, const Status& status) {
  RoleEnded ended;
  ended.set_job_id(job_id);
  ended.set_rank(rank);
  ended.set_code(wire_code(status));
  ended.set_message(wire_message(status));
  return ended;
}

std::map<net::Rank, std::string> addresses_of(const Ranks& ranks, const std::string& coordinator) {
  std::map<net::Rank, std::string> addresses;
  for (const RankAddress& rank : ranks) addresses[rank.rank()] = rank.address();
  addresses[0] = coordinator;
  return addresses;
}

net::Subjects subjects_of(const Ranks& ranks) {
  net::Subjects subjects;
  for (const RankAddress& rank : ranks)
    if (!rank.subject().empty()) subjects[rank.rank()] = rank.subject();
  return subjects;
}

Result<std::unique_ptr<net::Endpoint>> join(net::GrpcTransport& transport, const StartRole& start,
                                            const std::string& own_address, const std::string& coordinator) {
  MG_TRY(net::Members members, read_members(start.ranks(), 1));
  if (start.rank() < 1 || start.rank() >= start.ranks_size())
    return make_error(Code::invalid_argument,
                      "rank " + std::to_string(start.rank()) + " of " + std::to_string(start.ranks_size()) + " ranks");
  return transport.join(start.job_id(), start.rank(), addresses_of(start.ranks(), coordinator), own_address,
                        std::move(members), subjects_of(start.ranks()));
}

}  // namespace

void RoleRunner::start(const StartRole& start, const std::string& own_address, const std::string& coordinator,
                       RoleHost& host) {
  Result<std::unique_ptr<net::Endpoint>> endpoint = join(around_.transport, start, own_address, coordinator);
  if (!endpoint.ok()) return host.role_ended(ended_message(start.job_id(), start.rank(), endpoint.error()));
  log_info("role starts", {{"job", start.job_id()}, {"rank", start.rank()}});
  MutexLock lock(mutex_);
  reap();
  Role& role = roles_.emplace_back();
  role.job_id = start.job_id();
  role.rank = start.rank();
  role.endpoint = std::move(*endpoint);
  role.thread = std::jthread([this, &role, &host](const std::stop_token& stop) { play(role, stop, host); });
}

void RoleRunner::play(Role& role, const std::stop_token& stop, RoleHost& host) {
  Status status;
  if (Result<JobSpec> job = host.fetch_job(role.job_id, stop); job.ok()) {
    const double share = share_of(*job);
    weigh_thread(share);  // before it starts threads for kernels, which inherit the weight
    job::Machine device("/", share);
    job::RoleContext context{.endpoint = *role.endpoint,
                             .clock = around_.clock,
                             .device = device,
                             .data_folder = around_.data_folder,
                             .threads = threads_for(*job),
                             .stop = stop,
                             .report = [](Report) {},
                             .step_done = [&role](const job::StepTimes& step) { role.steps.add(step); }};
    status = run_role_guarded(around_.play, *job, context);
  } else {
    status = job.error();
  }
  // told to end, it ends as it happens to
  if (!status.ok() && stop.stop_requested()) status = make_error(Code::cancelled, "the job has ended");
  log_info("role ended", {{"job", role.job_id}, {"rank", role.rank}, {"message", wire_message(status)}});
  std::unique_ptr<net::Endpoint> endpoint;
  {
    MutexLock lock(mutex_);
    role.flows = flows_of(*role.endpoint);
    endpoint = std::move(role.endpoint);
  }
  endpoint.reset();
  host.role_ended(ended_message(role.job_id, role.rank, status));
  MutexLock lock(mutex_);
  role.over = true;
}

int RoleRunner::threads_for(const JobSpec& job) const {
  return std::max(1, static_cast<int>(std::lround(around_.threads * share_of(job))));
}

void RoleRunner::end(const std::string& job_id) {
  MutexLock lock(mutex_);
  for (Role& role : roles_) {
    if (role.job_id != job_id) continue;
    role.thread.request_stop();
    if (role.endpoint) role.endpoint->cancel();
  }
}

void RoleRunner::end_all() {
  std::list<Role> ending;
  {
    MutexLock lock(mutex_);
    for (Role& role : roles_) {
      role.thread.request_stop();
      if (role.endpoint) role.endpoint->cancel();
    }
    ending.swap(roles_);  // the addresses of the roles stay
  }
  for (Role& role : ending) role.thread.join();
}

void RoleRunner::members_changed(const MembersChanged& news, const std::string& coordinator) {
  Result<net::Members> members = read_members(news.ranks(), news.version());
  if (members.ok()) {
    around_.transport.set_members(news.job_id(), *members, addresses_of(news.ranks(), coordinator),
                                  subjects_of(news.ranks()));
  } else {
    log_warn("members ignored", {{"job", news.job_id()}, {"message", members.error().message}});
  }
}

RoleRunner::Flows RoleRunner::flows_of(const net::Endpoint& endpoint) {
  Flows flows;
  for (const auto& [key, flow] : endpoint.traffic().by_peer)
    flows[{net::node_name(endpoint, key.first), key.second}] += flow;
  return flows;
}

void RoleRunner::add_use(ResourceUse& use) const {
  MutexLock lock(mutex_);
  net::Flow total = past_;
  for (const Role& role : roles_) {
    const Flows flows = role.endpoint ? flows_of(*role.endpoint) : role.flows;
    for (const auto& [key, flow] : flows) total += flow;
    if (role.over) continue;
    RoleUse& own = *use.add_roles();
    own.set_job_id(role.job_id);
    *own.mutable_steps() = role.steps.use(around_.clock.now());
    *use.mutable_steps() = own.steps();
    for (const auto& [key, flow] : flows) {
      PeerFlow& message = *own.add_flows();
      message.set_peer(key.first);
      message.set_purpose(net::purpose_name(key.second));
      message.set_sent_bytes(flow.sent_bytes);
      message.set_received_bytes(flow.received_bytes);
    }
  }
  use.set_sent_bytes(total.sent_bytes);
  use.set_received_bytes(total.received_bytes);
}

void RoleRunner::reap() {
  for (auto role = roles_.begin(); role != roles_.end();) {
    if (!role->over) {
      ++role;
      continue;
    }
    for (const auto& [key, flow] : role->flows) past_ += flow;
    role = roles_.erase(role);
  }
}

}  // namespace mangrove::cluster
