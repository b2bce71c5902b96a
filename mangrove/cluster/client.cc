#include "mangrove/cluster/client.h"

#include <grpcpp/grpcpp.h>

#include <charconv>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/stop.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/cluster.grpc.pb.h"
#include "mangrove/cluster/enrolment.grpc.pb.h"
#include "mangrove/cluster/message_limits.h"
#include "mangrove/cluster/network_signature.h"
#include "mangrove/cluster/node_event.h"
#include "mangrove/cluster/outbox.h"
#include "mangrove/cluster/rpc.h"
#include "mangrove/cluster/wire_status.h"
#include "mangrove/net/grpc_status.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kAnswersWithin = 10;
constexpr Seconds kComesBackWithin = 1;  // a connection that broke between two questions
constexpr Seconds kAwayAtMost = 600;     // a coordinator that is started again
constexpr Seconds kRetryAfter = 0.5;

/// What a newer coordinator tells in ways that are not known here is left out.
void hand_on(JobReport got, const Reporter& report) {
  const std::optional<ReportKind> kind = report_kind_of_number(got.kind());
  if (!kind) return log_warn("report of an unknown kind ignored: is the coordinator newer?", {{"kind", got.kind()}});
  report({.kind = *kind, .json = std::move(*got.mutable_json()), .attachment = std::move(*got.mutable_attachment())});
}

FromClient following(const std::string& job_id, bool from_beginning = false) {
  FromClient first;
  first.mutable_follow()->set_job_id(job_id);
  first.mutable_follow()->set_from_beginning(from_beginning);
  return first;
}

/// Checks that the coordinator takes a job of this length, which it tells before anything is sent.
Status check_length(grpc::ClientContext& context, const FromClient& first) {
  const auto& told = context.GetServerInitialMetadata();
  const auto found = told.find(kLongestJobMetadata);
  Bytes longest = 0;
  if (found == told.end() || std::from_chars(found->second.begin(), found->second.end(), longest).ec != std::errc())
    return {};
  const auto length = static_cast<Bytes>(first.ByteSizeLong());
  if (length <= longest) return {};
  return make_error(Code::resource_exhausted, "the job with its model or checkpoint is " + format_bytes(length) +
                                                  " long, and the coordinator takes " + format_bytes(longest) +
                                                  "; it takes more with: mangrove coordinator --max-model SIZE");
}

/// What a person's request to stop ends.
struct Stops {
  std::stop_token job;     // in good order
  std::stop_token stream;  // only ours; the job goes on
};

}  // namespace

struct Client::Impl {
  struct Talk;
  void prepare(grpc::ClientContext& context, const std::stop_token& stop = {}) const;
  Status run(FromClient first, const Reporter& report, const Stops& stops);
  Talk talk(FromClient first, const Reporter& report, const Stops& stops);
  void push_frames(grpc::ClientContext& context, const std::stop_token& stop);
  void tell(const Reporter& report, const NodeEventKind& kind, const std::string& message) const;
  Status reconnect(Deadline deadline, const std::stop_token& stop);
  Error detached(const std::string& job_id) const;
  Result<JobSpec> signed_job(JobSpec job_to_sign) const;

  std::string coordinator;
  std::shared_ptr<const net::Credentials> credentials;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<Cluster::Stub> stub;
  SteadyClock clock;
  // of the job that runs
  Accepted job;
  FrameSource frames;
  std::function<void()> on_accepted;
  bool has_told_end = false;
  std::optional<Instant> lost;  // the coordinator, since then
  Instant began;
};

/// For a question. If the connection broke since the last one, a call would fail at once while the channel connects
/// anew; and since nobody waited for it, the channel would never be connected.
void Client::Impl::prepare(grpc::ClientContext& context, const std::stop_token& stop) const {
  std::ignore = wait_connected(*channel, clock.after(kComesBackWithin), stop);  // the call itself says what is wrong
  context.set_deadline(from_now(kAnswersWithin));
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

const std::string& Client::coordinator() const {
  return impl_->coordinator;
}

Result<std::unique_ptr<Client>> Client::connect(const std::string& coordinator,
                                                std::shared_ptr<const net::Credentials> credentials, Seconds timeout) {
  MG_RETURN_IF_ERROR(parse_host_port(coordinator).context("coordinator"));
  auto impl = std::make_unique<Impl>();
  impl->coordinator = coordinator;
  impl->credentials = std::move(credentials);
  impl->channel = open_channel(coordinator, impl->credentials.get());
  if (!wait_connected(*impl->channel, SteadyClock().after(timeout), {}).ok())
    return make_error(Code::unavailable, coordinator + ": no coordinator answers (tried for " +
                                             format_seconds(timeout) +
                                             "); start one with: mangrove coordinator --listen " + coordinator);
  impl->stub = Cluster::NewStub(impl->channel);
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Result<std::vector<JobStatus>> Client::jobs() {
  grpc::ClientContext context;
  impl_->prepare(context);
  ListJobsResponse response;
  MG_RETURN_IF_ERROR(net::from_grpc(impl_->stub->ListJobs(&context, {}, &response))
                         .context("asking the coordinator at " + impl_->coordinator + " for its jobs"));
  return std::vector<JobStatus>(response.jobs().begin(), response.jobs().end());
}

Result<std::vector<std::string>> Client::events(const std::string& job_id) {
  grpc::ClientContext context;
  impl_->prepare(context);
  ListEventsRequest request;
  request.set_job_id(job_id);
  ListEventsResponse response;
  MG_RETURN_IF_ERROR(net::from_grpc(impl_->stub->ListEvents(&context, request, &response))
                         .context("coordinator at " + impl_->coordinator));
  return std::vector<std::string>(response.events().begin(), response.events().end());
}

Result<std::string> Client::switch_scheduler(const std::string& scheduler, const std::string& job_id) {
  grpc::ClientContext context;
  impl_->prepare(context);
  SwitchSchedulerRequest request;
  request.set_scheduler(scheduler);
  request.set_job_id(job_id);
  SwitchSchedulerResponse response;
  MG_RETURN_IF_ERROR(net::from_grpc(impl_->stub->SwitchScheduler(&context, request, &response))
                         .context("coordinator at " + impl_->coordinator));
  return response.job_id();
}

Result<InviteResponse> Client::invite(const InviteRequest& invitation) {
  grpc::ClientContext context;
  impl_->prepare(context);
  InviteResponse response;
  MG_RETURN_IF_ERROR(net::from_grpc(Enrolment::NewStub(impl_->channel)->Invite(&context, invitation, &response))
                         .context("coordinator at " + impl_->coordinator));
  return response;
}

Result<std::vector<MemberStatus>> Client::members() {
  grpc::ClientContext context;
  impl_->prepare(context);
  ListMembersResponse response;
  MG_RETURN_IF_ERROR(net::from_grpc(Enrolment::NewStub(impl_->channel)->ListMembers(&context, {}, &response))
                         .context("coordinator at " + impl_->coordinator));
  return std::vector<MemberStatus>(response.members().begin(), response.members().end());
}

Status Client::revoke(const std::string& name) {
  grpc::ClientContext context;
  impl_->prepare(context);
  RevokeRequest request;
  request.set_name(name);
  RevokeResponse response;
  return net::from_grpc(Enrolment::NewStub(impl_->channel)->Revoke(&context, request, &response))
      .context("coordinator at " + impl_->coordinator);
}

Result<ReplaceAuthorityResponse> Client::replace_authority() {
  grpc::ClientContext context;
  impl_->prepare(context);
  ReplaceAuthorityResponse response;
  MG_RETURN_IF_ERROR(net::from_grpc(Enrolment::NewStub(impl_->channel)->ReplaceAuthority(&context, {}, &response))
                         .context("coordinator at " + impl_->coordinator));
  return response;
}

Result<std::vector<NodeStatus>> Client::nodes() {
  MG_TRY(const ListNodesResponse response, status({}));
  return std::vector<NodeStatus>(response.nodes().begin(), response.nodes().end());
}

Result<ListNodesResponse> Client::status(const std::stop_token& stop) {
  grpc::ClientContext context;
  impl_->prepare(context, stop);
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  ListNodesResponse response;
  MG_RETURN_IF_ERROR(net::from_grpc(impl_->stub->ListNodes(&context, {}, &response))
                         .context("asking the coordinator at " + impl_->coordinator + " for its nodes"));
  return response;
}

/// Until the last one was pushed, or the job takes no more.
void Client::Impl::push_frames(grpc::ClientContext& context, const std::stop_token& stop) {
  PushFramesResponse response;
  const auto stream = stub->PushFrames(&context, &response);
  PushedFrame greeting;  // at once: the first frame may be long in coming
  greeting.set_job_id(job.job_id());
  for (bool taken = stream->Write(greeting); taken;) {
    std::optional<job::Frame> frame = frames(stop);
    if (stop.stop_requested()) break;
    PushedFrame message;
    message.set_last(!frame);
    if (frame) {
      message.set_name(std::move(frame->name));
      message.set_image(std::move(frame->image));
      message.set_problem(std::move(frame->problem));
    }
    taken = stream->Write(message) && frame;
  }
  stream->WritesDone();
  std::ignore = stream->Finish();  // how the job ends is told by its own stream
}

/// One stream, to the end of the job or its own.
struct Client::Impl::Talk {
  std::optional<Status> ended;  // of the job
  bool has_detached = false;    // else, because it was asked to
  Error broken{};               // else
};

Client::Impl::Talk Client::Impl::talk(FromClient first, const Reporter& report, const Stops& stops) {
  grpc::ClientContext context;
  const auto stream = stub->RunJob(&context);
  Outbox<FromClient> outbox([&](const FromClient& message) { return stream->Write(message); },
                            [&] { context.TryCancel(); });
  Talk talk;
  if (first.has_job()) {
    stream->WaitForInitialMetadata();
    if (Status checked = check_length(context, first); !checked.ok()) talk.ended = std::move(checked);
  }
  if (!talk.ended) outbox.send(std::move(first));
  {
    grpc::ClientContext pushing;
    std::jthread pusher;
    const std::stop_callback ask_to_stop(stops.job, [&] {
      FromClient message;
      message.mutable_stop();
      outbox.send(std::move(message));
    });
    const std::stop_callback detach(stops.stream, [&] { context.TryCancel(); });
    // a coordinator that is gone without a word breaks the stream (see open_channel)
    ToClient message;
    while (!talk.ended && stream->Read(&message)) {
      if (message.has_ended()) talk.ended = status_from_wire(message.ended().code(), message.ended().message());
      if (std::exchange(lost, std::nullopt)) tell(report, kCoordinatorBack, "");
      if (message.has_accepted()) job = message.accepted();
      if (message.has_accepted() && on_accepted) on_accepted();
      if (message.has_accepted() && frames)
        pusher = std::jthread([&](const std::stop_token& ending) { push_frames(pushing, ending); });
      if (message.has_report() && report) hand_on(std::move(*message.mutable_report()), report);
    }
    pusher.request_stop();
    pushing.TryCancel();
  }
  outbox.close(kLastWordsWithin);
  if (talk.ended) context.TryCancel();  // else it has ended, and cancelling would hide why
  const Status broken = net::from_grpc(stream->Finish());
  talk.has_detached = !talk.ended && stops.stream.stop_requested();
  if (!talk.ended && !broken.ok() && broken.code() == Code::permission_denied)
    talk.ended = broken.error().context("coordinator at " + coordinator);
  talk.broken =
      make_error(Code::unavailable, "lost the connection to the coordinator at " + coordinator + ": was it stopped? (" +
                                        (broken.ok() ? "it ended the job's stream" : broken.error().message) + ")");
  return talk;
}

void Client::Impl::tell(const Reporter& report, const NodeEventKind& kind, const std::string& message) const {
  if (report) report(NodeEvent(kind, coordinator, clock.now() - began, message).report());
}

/// Until the coordinator answers again. errors: it does not; cancelled.
Status Client::Impl::reconnect(Deadline deadline, const std::stop_token& stop) {
  channel = open_channel(coordinator, credentials.get());
  MG_RETURN_IF_ERROR(wait_connected(*channel, deadline, stop));
  stub = Cluster::NewStub(channel);
  return {};
}

/// With a signature of its networks, where there are credentials.
Result<JobSpec> Client::Impl::signed_job(JobSpec job_to_sign) const {
  if (credentials != nullptr) MG_RETURN_IF_ERROR(sign_networks(job_to_sign, credentials->current()));
  return job_to_sign;
}

/// errors: cancelled, always.
Error Client::Impl::detached(const std::string& job_id) const {
  return make_error(Code::cancelled, "detached from job " + job_id +
                                         ", which goes on; stop it with: mangrove job stop " + job_id +
                                         " --coordinator " + coordinator);
}

Status Client::Impl::run(FromClient first, const Reporter& report, const Stops& stops) {
  const std::stop_token& stop = stops.job.stop_possible() ? stops.job : stops.stream;
  const std::string followed = first.follow().job_id();
  const bool from_beginning = first.follow().from_beginning();
  job = {};
  has_told_end = false;
  lost.reset();
  began = clock.now();
  while (true) {
    Talk spoken = talk(std::move(first), report, stops);
    has_told_end = spoken.ended.has_value();
    if (spoken.ended) return *spoken.ended;
    if (spoken.has_detached) return detached(followed);
    if (!job.kept()) return spoken.broken;
    const std::string how_on = "; job " + job.job_id() +
                               " goes on when it is back; follow it with: mangrove job follow " + job.job_id() +
                               " --coordinator " + coordinator;
    if (!lost) {
      lost = clock.now();
      tell(report, kCoordinatorLost, "trying to reach it again for " + format_seconds(kAwayAtMost));
    }
    wait_for_stop(stop, kRetryAfter);
    if (const Status back = reconnect(*lost + kAwayAtMost, stop); !back.ok())
      return make_error(back.code(), spoken.broken.message + how_on);
    first = following(job.job_id(), from_beginning);
  }
}

Status Client::run(const JobSpec& job, const Reporter& report, std::stop_token stop, FrameSource frames) {
  FromClient first;
  impl_->frames = std::move(frames);
  MG_TRY(*first.mutable_job(), impl_->signed_job(job));
  return impl_->run(std::move(first), report, {.job = std::move(stop), .stream = {}});
}

Status Client::follow(const std::string& job_id, const Reporter& report, std::stop_token detach, bool from_beginning) {
  impl_->frames = {};
  return impl_->run(following(job_id, from_beginning), report, {.job = {}, .stream = std::move(detach)});
}

bool Client::has_told_end() const {
  return impl_->has_told_end;
}

Result<std::string> Client::submit(const JobSpec& job, const std::stop_token& stop) {
  FromClient first;
  MG_TRY(*first.mutable_job(), impl_->signed_job(job));
  std::stop_source accepted;
  const std::stop_callback given_up(stop, [&] { accepted.request_stop(); });
  impl_->frames = {};
  impl_->job = {};
  impl_->on_accepted = [&] { accepted.request_stop(); };
  const Impl::Talk spoken = impl_->talk(std::move(first), {}, {.job = {}, .stream = accepted.get_token()});
  impl_->on_accepted = {};
  const Accepted& begun = impl_->job;
  if (begun.job_id().empty()) return spoken.ended ? spoken.ended->error() : spoken.broken;
  if (begun.kept()) return begun.job_id();
  return make_error(Code::failed_precondition, "the coordinator at " + impl_->coordinator +
                                                   " keeps no jobs (--state none), so job " + begun.job_id() +
                                                   " has ended with its client");
}

Result<std::string> Client::stop_job(const std::string& job_id, std::stop_token detach) {
  std::stop_source at_once;
  at_once.request_stop();
  impl_->job = {};
  impl_->frames = {};
  const Impl::Talk spoken =
      impl_->talk(following(job_id), {}, {.job = at_once.get_token(), .stream = std::move(detach)});
  if (spoken.has_detached) return make_error(Code::cancelled, "not waited for; job " + job_id + " was asked to stop");
  if (!spoken.ended) return spoken.broken;
  const Status& ended = *spoken.ended;
  const std::string how = ended.ok() ? "job " + job_id + " has come to its end" : ended.error().message;
  const bool ran = !impl_->job.job_id().empty();
  if (ran) return how;
  return make_error(ended.ok() ? Code::failed_precondition : ended.code(), "nothing to stop: " + how);
}

}  // namespace mangrove::cluster
