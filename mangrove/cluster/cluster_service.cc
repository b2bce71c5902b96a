#include "mangrove/cluster/cluster_service.h"

#include <grpcpp/grpcpp.h>

#include <initializer_list>
#include <optional>
#include <set>

#include "mangrove/base/log.h"
#include "mangrove/base/printable.h"
#include "mangrove/base/suggestion.h"
#include "mangrove/cluster/client_session.h"
#include "mangrove/cluster/cluster.grpc.pb.h"
#include "mangrove/cluster/job_report.h"
#include "mangrove/cluster/message_limits.h"
#include "mangrove/cluster/node_checks.h"
#include "mangrove/cluster/open_calls.h"
#include "mangrove/cluster/outbox.h"
#include "mangrove/cluster/rate_limit.h"
#include "mangrove/net/grpc_status.h"

namespace mangrove::cluster {
namespace {

using identity::Role;
using NodeStream = grpc::ServerReaderWriter<ToNode, FromNode>;

constexpr int kMostJoinsOfOne = 120;  // member, a minute: each may add a rank to a job for good

ToNode about_revoked(const std::set<std::string>& serials) {
  ToNode message;
  message.mutable_revoked()->mutable_serials()->Add(serials.begin(), serials.end());
  return message;
}

/// checked: why a message does not pass.
Refusal why_refused(const Status& checked) {
  return checked.code() == Code::resource_exhausted ? Refusal::message_too_long : Refusal::impossible_numbers;
}

bool are_one_process(const NodeDescription& a, const NodeDescription& b) {
  return !a.host().empty() && a.host() == b.host() && a.address() == b.address();
}

/// The line to one node. Others may hold it for longer than the stream lives.
class StreamLink final : public NodeLink {
 public:
  StreamLink(grpc::ServerContext* context, NodeStream* stream, Refusals& refusals)
      : context_(context),
        outbox_([stream](const ToNode& message) { return stream->Write(message); }, [context] { context->TryCancel(); },
                longest_by_memory(),
                [&refusals, peer = context->peer()] { refusals.count(Refusal::answers_not_read, peer); }) {}

  void send(ToNode message) override { outbox_.send(std::move(message)); }
  /// The answer to a heartbeat; a node that reads nothing needs no more of them.
  void echo() {
    ToNode answer;
    answer.mutable_echo();
    outbox_.send_if_keeping_up(std::move(answer));
  }
  void cut() override {
    MutexLock lock(mutex_);
    if (context_ != nullptr) context_->TryCancel();
  }
  /// To be called before the handler returns: the stream is not touched afterwards.
  void close() {
    outbox_.close(kLastWordsWithin);
    MutexLock lock(mutex_);
    context_ = nullptr;
  }

 private:
  Mutex mutex_;
  grpc::ServerContext* context_ MG_GUARDED_BY(mutex_);
  Outbox<ToNode> outbox_;
};

}  // namespace

class ClusterService::Service final : public Cluster::Service {
 public:
  Service(Membership& membership, JobQueue& jobs, const Gate& gate, const Clock& clock,
          const ClusterServiceOptions& options)
      : membership_(membership), jobs_(jobs), gate_(gate), clock_(clock), options_(options) {}

  grpc::Status Join(grpc::ServerContext* context, NodeStream* stream) override;
  grpc::Status RunJob(grpc::ServerContext* context, ClientStream* stream) override;
  grpc::Status PushFrames(grpc::ServerContext* context, grpc::ServerReader<PushedFrame>* stream,
                          PushFramesResponse* response) override;
  grpc::Status ListNodes(grpc::ServerContext* context, const ListNodesRequest* request,
                         ListNodesResponse* response) override;
  grpc::Status ListJobs(grpc::ServerContext* context, const ListJobsRequest* request,
                        ListJobsResponse* response) override;
  grpc::Status ListEvents(grpc::ServerContext* context, const ListEventsRequest* request,
                          ListEventsResponse* response) override;
  grpc::Status SwitchScheduler(grpc::ServerContext* context, const SwitchSchedulerRequest* request,
                               SwitchSchedulerResponse* response) override;
  grpc::Status GetJob(grpc::ServerContext* context, const GetJobRequest* request, JobSpec* response) override;

  OpenCalls& calls() { return calls_; }
  void cut_revoked();
  void cut_expired(identity::WallTime now) {
    calls_.cut_expired(
        [&](const std::string& who, identity::WallTime valid_to) { return gate_.has_expired(who, valid_to, now); });
  }
  void wait_for_clients(Deadline deadline);

 private:
  Result<std::optional<net::Caller>> admit(const grpc::ServerContext& context, std::initializer_list<Role> roles,
                                           OpenCalls::Call& call, const char* name = __builtin_FUNCTION());
  Member welcome(const NodeDescription& description, const std::string& certified,
                 const std::shared_ptr<StreamLink>& link);
  MemberState follow(const Member& member, NodeStream* stream, StreamLink& link);
  /// A message that does not pass a check.
  grpc::Status refuse(const grpc::ServerContext& context, const Status& checked) const {
    return gate_.refuse(context, why_refused(checked), checked);
  }
  static void reject(const Member& member, const std::string& reason, StreamLink& link);
  void gone(const Member& member, MemberState state);
  void count_client(int change);
  Result<std::shared_ptr<Job>> job_with_tiers(const std::string& id) const;

  Membership& membership_;
  JobQueue& jobs_;
  const Gate& gate_;
  const Clock& clock_;
  const ClusterServiceOptions options_;
  OpenCalls calls_;
  Mutex greeting_;  // a node's first message is its welcome
  RateLimit joins_{"joins from one address", kMostJoinsAMinute};
  RateLimit rejoins_{"joins of one member", kMostJoinsOfOne};
  Mutex mutex_;
  Condition changed_;
  int clients_ MG_GUARDED_BY(mutex_) = 0;  // streams of RunJob
};

Result<std::optional<net::Caller>> ClusterService::Service::admit(const grpc::ServerContext& context,
                                                                  std::initializer_list<Role> roles,
                                                                  OpenCalls::Call& call, const char* name) {
  MG_TRY(std::optional<net::Caller> caller, gate_.admit(context, roles, name));
  const Status taken = caller ? call.take(caller->subject.uri(), caller->serial, caller->valid_to) : call.take("", "");
  if (!taken.ok()) {
    gate_.refuse(context, Refusal::too_many_streams, taken);
    return taken.error();
  }
  // from here on cut_revoked() finds this call, but the caller may have been revoked just before
  if (caller && gate_.is_revoked(caller->serial))
    return make_error(Code::permission_denied, caller->subject.name + " was revoked");
  return caller;
}

void ClusterService::Service::cut_revoked() {
  calls_.cut_where([this](const std::string& serial) { return gate_.is_revoked(serial); });
  const ToNode message = about_revoked(gate_.revoked());
  MutexLock lock(greeting_);
  for (const Member& member : membership_.alive()) member.link->send(message);
}

// ---- nodes

grpc::Status ClusterService::Service::Join(grpc::ServerContext* context, NodeStream* stream) {
  OpenCalls::Call call(calls_, context, clock_.now() + options_.greeting_limit);
  const auto caller = admit(*context, {Role::node}, call);
  if (!caller.ok()) return net::to_grpc(caller.error());
  Status taken = joins_.take(address_of(context->peer()), clock_.now());
  if (taken.ok() && *caller) taken = rejoins_.take((*caller)->subject.uri(), clock_.now());
  if (!taken.ok()) return gate_.refuse(*context, Refusal::too_many_joins, taken);
  FromNode first;
  if (!stream->Read(&first) || !first.has_hello())
    return {grpc::StatusCode::INVALID_ARGUMENT, "a node must say hello first"};
  call.greeted();
  if (const Status checked = check_message(first); !checked.ok()) return refuse(*context, checked);
  const auto link = std::make_shared<StreamLink>(context, stream, gate_.refusals());
  const Member member = welcome(first.hello(), *caller ? (*caller)->subject.name : "", link);
  gate_.record(*context, "node_joined", member.description.name());
  gone(member, follow(member, stream, *link));
  link->close();
  return grpc::Status::OK;
}

void ClusterService::Service::gone(const Member& member, MemberState state) {
  if (!membership_.gone(member.id, state)) return;
  log_info("node gone", {{"node", member.description.name()}, {"state", member_state_name(state)}});
  jobs_.each_run([&](JobAttempt& job) { job.member_gone(member.id, state); });
}

/// certified: the name in the node's certificate; "": it has shown none.
Member ClusterService::Service::welcome(const NodeDescription& description, const std::string& certified,
                                        const std::shared_ptr<StreamLink>& link) {
  // the node joins again before we have noticed that its stream is broken
  for (const Member& old : membership_.alive())
    if (old.certified == certified && are_one_process(old.description, description)) gone(old, MemberState::lost);
  Member member;
  {
    MutexLock lock(greeting_);
    member = membership_.join(description, certified, link, clock_.now());
    ToNode message;
    message.mutable_welcome()->set_name(member.description.name());
    message.mutable_welcome()->set_heartbeat_interval_s(options_.heartbeat_interval);
    message.mutable_welcome()->set_silence_limit_s(options_.silence_limit);
    message.mutable_welcome()->set_longest_message(options_.longest_message);
    link->send(std::move(message));
    if (const std::set<std::string> revoked = gate_.revoked(); !revoked.empty()) link->send(about_revoked(revoked));
  }
  log_info("node joined", {{"node", member.description.name()}, {"address", description.address()}});
  jobs_.each_run([](JobAttempt& job) { job.member_joined(); });
  return member;
}

void ClusterService::Service::reject(const Member& member, const std::string& reason, StreamLink& link) {
  log_warn("node rejected", {{"node", member.description.name()}, {"reason", reason}});
  ToNode answer;
  answer.mutable_rejected()->set_reason(reason);
  link.send(std::move(answer));
}

/// Hands on what the node says, until it leaves, its stream breaks, or it was declared lost.
MemberState ClusterService::Service::follow(const Member& member, NodeStream* stream, StreamLink& link) {
  FromNode message;
  while (stream->Read(&message)) {
    if (const Status checked = check_message(message); !checked.ok()) {
      gate_.refusals().count(why_refused(checked), member.description.address(), checked.error().message);
      reject(member, checked.error().message, link);
      return MemberState::lost;
    }
    if (message.has_leaving()) return MemberState::left;
    if (message.has_heartbeat()) {
      if (!membership_.heartbeat(member.id, message.heartbeat(), clock_.now())) {
        reject(member, "declared lost after a silence; join again", link);
        return MemberState::lost;
      }
      link.echo();
      jobs_.each_run([&](JobAttempt& job) { job.resources_used(member.id, message.heartbeat()); });
    }
    if (message.has_role_ended())
      jobs_.each_run([&](JobAttempt& job) { job.role_ended(member.id, message.role_ended()); });
    if (message.has_members_known())
      jobs_.each_run([&](JobAttempt& job) { job.members_known(member.id, message.members_known()); });
  }
  return MemberState::lost;
}

// ---- clients

grpc::Status ClusterService::Service::RunJob(grpc::ServerContext* context, ClientStream* stream) {
  OpenCalls::Call call(calls_, context, clock_.now() + options_.greeting_limit);
  const auto caller = admit(*context, {Role::client, Role::admin}, call);
  if (!caller.ok()) return net::to_grpc(caller.error());
  context->AddInitialMetadata(kLongestJobMetadata, std::to_string(options_.longest_message));
  stream->SendInitialMetadata();
  FromClient first;
  if (!stream->Read(&first) || !(first.has_job() || first.has_follow()))
    return {grpc::StatusCode::INVALID_ARGUMENT, "a client must send a job first, of at most " +
                                                    format_bytes(options_.longest_message) +
                                                    ", or say which it follows"};
  call.greeted();
  if (first.has_follow())
    if (const Status checked = check_question(first); !checked.ok()) return refuse(*context, checked);
  count_client(+1);
  const Status served = ClientSession(context, stream, gate_, *caller, clock_).serve(std::move(first), jobs_);
  count_client(-1);
  return served.ok() ? grpc::Status::OK : net::to_grpc(served.error());
}

void ClusterService::Service::count_client(int change) {
  MutexLock lock(mutex_);
  clients_ += change;
  changed_.notify_all();
}

void ClusterService::Service::wait_for_clients(Deadline deadline) {
  MutexLock lock(mutex_);
  while (clients_ > 0 && clock_.now() < deadline) changed_.wait_for(mutex_, deadline - clock_.now());
}

grpc::Status ClusterService::Service::PushFrames(grpc::ServerContext* context, grpc::ServerReader<PushedFrame>* stream,
                                                 PushFramesResponse*) {
  OpenCalls::Call call(calls_, context, clock_.now() + options_.greeting_limit);
  const auto caller = admit(*context, {Role::client, Role::admin}, call);
  if (!caller.ok()) return net::to_grpc(caller.error());
  PushedFrame frame;
  if (!stream->Read(&frame)) return {grpc::StatusCode::INVALID_ARGUMENT, "a client must say first whose frames it has"};
  call.greeted();
  if (const Status checked = check_question(frame); !checked.ok()) return refuse(*context, checked);
  const std::shared_ptr<Job> owned = jobs_.find(frame.job_id());
  const std::shared_ptr<JobAttempt> job = owned == nullptr ? nullptr : owned->current_run();
  if (job != nullptr)
    if (const Status own = Gate::check_owner(*caller, owned->owner()); !own.ok()) {
      gate_.record(*context, "push_frames", frame.job_id(), own);
      return net::to_grpc(own);
    }
  if (job == nullptr || job->frames() == nullptr)
    return {grpc::StatusCode::NOT_FOUND, "job '" + frame.job_id() + "' does not run here, or asks for no frames"};
  gate_.record(*context, "push_frames", frame.job_id());
  while (stream->Read(&frame)) {
    if (frame.last()) {
      job->frames()->end();
      return grpc::Status::OK;
    }
    if (const auto length = static_cast<Bytes>(frame.ByteSizeLong()); length > kLongestFrame) {
      gate_.refusals().count(Refusal::message_too_long, context->peer());
      frame.Clear();
      frame.set_problem("an image of " + format_bytes(length) + ", where " + format_bytes(kLongestFrame) +
                        " is the longest");
    }
    const bool taken = job->frames()->push({.name = cut_short(std::move(*frame.mutable_name())),
                                            .image = std::move(*frame.mutable_image()),
                                            .problem = cut_short(std::move(*frame.mutable_problem()))});
    if (!taken) return grpc::Status::OK;  // the job has ended
  }
  job->request_stop();  // nobody knows what is missing
  return {grpc::StatusCode::DATA_LOSS, "the frames end in the middle"};
}

// ---- questions

grpc::Status ClusterService::Service::ListNodes(grpc::ServerContext* context, const ListNodesRequest*,
                                                ListNodesResponse* response) {
  const auto caller = gate_.admit(*context, {Role::viewer, Role::client, Role::admin});
  if (!caller.ok()) return net::to_grpc(caller.error());
  for (NodeStatus& status : membership_.list(clock_.now())) *response->add_nodes() = std::move(status);
  for (const auto& job : jobs_.all()) job->current_run()->describe(job->id(), *response);
  for (const auto& [name, count] : gate_.refusals().counts()) (*response->mutable_refused())[name] = count;
  return grpc::Status::OK;
}

grpc::Status ClusterService::Service::ListJobs(grpc::ServerContext* context, const ListJobsRequest*,
                                               ListJobsResponse* response) {
  const auto caller = gate_.admit(*context, {Role::viewer, Role::client, Role::admin});
  if (!caller.ok()) return net::to_grpc(caller.error());
  Result<std::vector<JobStatus>> jobs =
      jobs_.list([&](const std::string& owner) { return Gate::check_owner(*caller, owner).ok(); });
  if (!jobs.ok()) return net::to_grpc(jobs.error());
  for (JobStatus& job : *jobs) *response->add_jobs() = std::move(job);
  return grpc::Status::OK;
}

grpc::Status ClusterService::Service::ListEvents(grpc::ServerContext* context, const ListEventsRequest* request,
                                                 ListEventsResponse* response) {
  const auto caller = gate_.admit(*context, {Role::viewer, Role::client, Role::admin});
  if (!caller.ok()) return net::to_grpc(caller.error());
  if (const Status checked = check_question(*request); !checked.ok()) return refuse(*context, checked);
  const std::shared_ptr<Job> live = jobs_.find(request->job_id());
  std::string owner;
  Result<std::vector<std::string>> events = make_error(Code::not_found, "job '" + request->job_id() + "' is not known");
  if (live != nullptr) {
    owner = live->owner();
    events = live->current_run()->events();
  } else if (jobs_.store() != nullptr) {
    const Result<JobStore::Ended> past = jobs_.store()->ended(request->job_id());
    if (!past.ok()) return net::to_grpc(past.error());
    owner = past->owner;
    events = past->result ? events_of(past->result->json) : std::vector<std::string>();
  }
  if (events.ok())
    if (const Status own = Gate::check_owner(*caller, owner); !own.ok()) events = own.error();
  gate_.record(*context, "list_events", request->job_id(), events.ok() ? Status() : Status(events.error()));
  if (!events.ok()) return net::to_grpc(events.error());
  for (std::string& event : *events) response->add_events(std::move(event));
  return grpc::Status::OK;
}

/// The job with this id or, for "", the only one with tiers.
/// errors: failed_precondition (there is none, or there are several).
Result<std::shared_ptr<Job>> ClusterService::Service::job_with_tiers(const std::string& id) const {
  if (!id.empty()) {
    if (const auto job = jobs_.find(id)) return job;
    return make_error(Code::failed_precondition, "job '" + id + "' does not run here");
  }
  const std::vector<std::shared_ptr<Job>> jobs = jobs_.all();
  if (jobs.empty()) return make_error(Code::failed_precondition, "no job runs");
  std::vector<std::shared_ptr<Job>> found;
  std::vector<std::string> names;
  for (const auto& job : jobs) {
    if (job->current_run()->job().infer().tiers_size() == 0) continue;
    found.push_back(job);
    names.push_back(job->id());
  }
  if (found.size() > 1)
    return make_error(Code::failed_precondition, "several jobs with tiers run: " + join_words(names) + "; say which");
  return found.empty() ? jobs.front() : found.front();
}

grpc::Status ClusterService::Service::SwitchScheduler(grpc::ServerContext* context,
                                                      const SwitchSchedulerRequest* request,
                                                      SwitchSchedulerResponse* response) {
  const auto caller = gate_.admit(*context, {Role::client, Role::admin});
  if (!caller.ok()) return net::to_grpc(caller.error());
  if (const Status checked = check_question(*request); !checked.ok()) return refuse(*context, checked);
  const Result<std::shared_ptr<Job>> found = job_with_tiers(request->job_id());
  if (!found.ok()) return net::to_grpc(found.error());
  const std::shared_ptr<Job>& owned = *found;
  if (const Status own = Gate::check_owner(*caller, owned->owner()); !own.ok()) {
    gate_.record(*context, "switch_scheduler", owned->id(), own);
    return net::to_grpc(own);
  }
  const std::shared_ptr<JobAttempt> job = owned->current_run();
  const Status switched = job->switch_scheduler(request->scheduler());
  gate_.record(*context, "switch_scheduler", owned->id() + " " + request->scheduler(), switched);
  if (!switched.ok()) return net::to_grpc(switched);
  response->set_job_id(owned->id());
  return grpc::Status::OK;
}

grpc::Status ClusterService::Service::GetJob(grpc::ServerContext* context, const GetJobRequest* request,
                                             JobSpec* response) {
  const auto caller = gate_.admit(*context, {Role::node});
  if (!caller.ok()) return net::to_grpc(caller.error());
  if (const Status checked = check_question(*request); !checked.ok()) return refuse(*context, checked);
  const std::shared_ptr<Job> owned = jobs_.find_run(request->job_id());
  if (owned == nullptr) return {grpc::StatusCode::NOT_FOUND, "job '" + request->job_id() + "' does not run here"};
  const std::shared_ptr<JobAttempt> job = owned->current_run();
  if (*caller && !job->is_for((*caller)->subject.uri())) {
    const Status refused = make_error(Code::permission_denied, (*caller)->subject.name + " has no part in this job");
    gate_.record(*context, "get_job", job->id(), refused);
    return net::to_grpc(refused);
  }
  *response = job->job_of_nodes();
  return grpc::Status::OK;
}

ClusterService::ClusterService(Membership& membership, JobQueue& jobs, const Gate& gate, const Clock& clock,
                               const ClusterServiceOptions& options)
    : service_(std::make_unique<Service>(membership, jobs, gate, clock, options)) {}

ClusterService::~ClusterService() = default;

grpc::Service& ClusterService::service() {
  return *service_;
}

void ClusterService::cut_mute_streams(Instant now) {
  service_->calls().cut_mute(now);
}

void ClusterService::cut_expired(identity::WallTime now) {
  service_->cut_expired(now);
}

void ClusterService::cut_revoked() {
  service_->cut_revoked();
}

void ClusterService::shutdown(Deadline deadline) {
  service_->wait_for_clients(deadline);
  service_->calls().cut_all();
}

}  // namespace mangrove::cluster
