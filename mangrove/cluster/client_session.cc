#include "mangrove/cluster/client_session.h"

#include <grpcpp/grpcpp.h>

#include <thread>

#include "mangrove/cluster/cluster.grpc.pb.h"
#include "mangrove/cluster/wire_status.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kResultWithin = 60;       // a model over a slow link
constexpr Seconds kHangUpWithin = 5;        // by a client that has its result
constexpr Seconds kHangUpCheckEvery = 0.2;  // whether it is still there

}  // namespace

ClientSession::ClientSession(grpc::ServerContext* context, ClientStream* stream, const Gate& gate,
                             std::optional<net::Caller> caller, const Clock& clock)
    : context_(context),
      stream_(stream),
      gate_(gate),
      caller_(std::move(caller)),
      clock_(clock),
      outbox_([stream](const ToClient& message) { return stream->Write(message); }, [context] { context->TryCancel(); },
              longest_by_memory(),
              [&gate, context] { gate.refusals().count(Refusal::answers_not_read, context->peer()); }) {}

Status ClientSession::serve(FromClient first, JobQueue& jobs) {
  const std::string followed = first.follow().job_id();
  owns_job_ = first.has_job();
  const Result<std::shared_ptr<Job>> job = begin(std::move(first), jobs);
  const bool is_past = !job.ok() && !followed.empty() && job.code() == Code::not_found;
  if (!is_past) record(job.ok() ? (*job)->id() : followed, job.ok() ? Status() : Status(job.error()));
  std::jthread listener([this, live = job.ok() ? *job : nullptr] { listen(live); });
  Status status;
  if (job.ok()) {
    status = follow(**job);
  } else if (is_past) {
    status = send_past(followed, jobs);
  } else {
    send_end(job.error());
  }
  outbox_.close(kResultWithin);
  if (status.ok()) {
    await_hang_up();
  } else {
    context_->TryCancel();
  }
  return status;
}

void ClientSession::record(const std::string& job_id, const Status& outcome) {
  gate_.record(*context_, owns_job_ ? "run_job" : "follow_job", job_id, outcome);
}

Result<std::shared_ptr<Job>> ClientSession::begin(FromClient first, JobQueue& jobs) {
  const auto report = [this](Report news) { send(std::move(news)); };
  const std::string self = caller_ ? caller_->subject.uri() : "";
  if (first.has_job()) {
    if (const Status often = jobs.take_turn(self); !often.ok()) {
      gate_.refusals().count(Refusal::too_many_jobs, context_->peer(), often.error().message);
      return often.error();
    }
    return jobs.begin(std::move(*first.mutable_job()), self, this, report);
  }
  const std::shared_ptr<Job> job = jobs.find(first.follow().job_id());
  if (job == nullptr) return make_error(Code::not_found, "job '" + first.follow().job_id() + "' does not run here");
  MG_RETURN_IF_ERROR(Gate::check_owner(caller_, job->owner()));
  job->follow(this, report, first.follow().from_beginning());
  return job;
}

Status ClientSession::follow(Job& job) {
  ToClient accepted;
  accepted.mutable_accepted()->set_job_id(job.id());
  accepted.mutable_accepted()->set_kept(job.is_kept());
  outbox_.send(std::move(accepted));
  std::optional<Job::End> end;
  const bool goes_on_alone = job.is_kept() || !owns_job_;
  while (!end && !(goes_on_alone && hung_up())) end = job.wait_end(kHangUpCheckEvery);
  job.unfollow(this);
  if (!end) return {};
  if (end->suspended) return make_error(Code::unavailable, "the coordinator ends; job " + job.id() + " is kept");
  send_end(end->status);
  return {};
}

/// A job that has ended before.
Status ClientSession::send_past(const std::string& job_id, JobQueue& jobs) {
  if (jobs.store() == nullptr) {
    send_end(make_error(Code::not_found,
                        "job '" + job_id + "' is not known here: the coordinator keeps no jobs (--state none)"));
    return {};
  }
  Result<JobStore::Ended> past = jobs.store()->ended(job_id);
  if (!past.ok() && past.code() == Code::failed_precondition) return past.error();  // between its end and its thread's
  if (past.ok()) {
    if (Status owned = Gate::check_owner(caller_, past->owner); !owned.ok()) past = owned.error();
  }
  record(job_id, past.ok() ? Status() : Status(past.error()));
  if (past.ok() && past->result) send(std::move(*past->result));
  send_end(past.ok() ? past->status : Status(past.error()));
  return {};
}

void ClientSession::send_end(const Status& status) {
  ToClient last;
  last.mutable_ended()->set_code(wire_code(status));
  last.mutable_ended()->set_message(wire_message(status));
  outbox_.send(std::move(last));
}

void ClientSession::send(Report report) {
  const bool superseded_soon = report.kind == ReportKind::progress || report.kind == ReportKind::nodes;
  ToClient message;
  message.mutable_report()->set_kind(static_cast<std::int32_t>(report.kind));
  message.mutable_report()->set_json(std::move(report.json));
  message.mutable_report()->set_attachment(std::move(report.attachment));
  if (superseded_soon) {
    outbox_.send_if_keeping_up(std::move(message));
  } else {
    outbox_.send(std::move(message));
  }
}

/// Until the client hangs up: it has its result, it vanished, or the stream was cut.
void ClientSession::listen(const std::shared_ptr<Job>& job) {
  FromClient message;
  while (stream_->Read(&message)) {
    if (message.has_stop() && job) {
      gate_.record(*context_, "stop_job", job->id());
      job->request_stop();
    }
    message.Clear();  // other messages are ignored, and may be long
  }
  if (job && owns_job_ && !job->is_kept()) job->request_stop();
  MutexLock lock(mutex_);
  hung_up_ = true;
  changed_.notify_all();
}

bool ClientSession::hung_up() {
  MutexLock lock(mutex_);
  return hung_up_;
}

void ClientSession::await_hang_up() {
  MutexLock lock(mutex_);
  const Deadline deadline = clock_.now() + kHangUpWithin;
  while (!hung_up_ && clock_.now() < deadline) changed_.wait_for(mutex_, deadline - clock_.now());
  if (!hung_up_) context_->TryCancel();
}

}  // namespace mangrove::cluster
