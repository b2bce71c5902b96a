#include "mangrove/cluster/client_session.h"

#include <grpcpp/grpcpp.h>

#include <thread>

#include "mangrove/cluster/cluster.grpc.pb.h"
#include "mangrove/cluster/wire_status.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kResultWithin = 60;  // a model over a slow link
constexpr Seconds kHangUpWithin = 5;   // by a client that has its result

}  // namespace

ClientSession::ClientSession(grpc::ServerContext* context, ClientStream* stream, const Clock& clock)
    : context_(context),
      stream_(stream),
      clock_(clock),
      outbox_([stream](const ToClient& message) { return stream->Write(message); },
              [context] { context->TryCancel(); }) {}

void ClientSession::serve(Job job, JobSlot& jobs) {
  const Result<std::shared_ptr<JobRun>> run =
      jobs.begin(std::move(job), [this](Report report) { send(std::move(report)); });
  std::jthread listener([this, job_run = run.ok() ? *run : nullptr] { listen(job_run); });
  Status status = run.ok() ? (*run)->run() : Status(run.error());
  if (run.ok()) jobs.ended();
  ToClient last;
  last.mutable_ended()->set_code(wire_code(status));
  last.mutable_ended()->set_message(wire_message(status));
  outbox_.send(std::move(last));
  outbox_.close(kResultWithin);
  await_hang_up();
}

void ClientSession::send(Report report) {
  const bool superseded_soon = report.kind == "progress" || report.kind == "nodes";
  ToClient message;
  message.mutable_report()->set_kind(std::move(report.kind));
  message.mutable_report()->set_json(std::move(report.json));
  message.mutable_report()->set_attachment(std::move(report.attachment));
  if (superseded_soon) {
    outbox_.send_if_keeping_up(std::move(message));
  } else {
    outbox_.send(std::move(message));
  }
}

/// Until the client hangs up: it has its result, it vanished, or the stream was cut.
void ClientSession::listen(const std::shared_ptr<JobRun>& run) {
  FromClient message;
  while (stream_->Read(&message))
    if (message.has_stop() && run) run->request_stop();
  if (run) run->request_stop();
  MutexLock lock(mutex_);
  hung_up_ = true;
  changed_.notify_all();
}

void ClientSession::await_hang_up() {
  MutexLock lock(mutex_);
  const Deadline deadline = clock_.now() + kHangUpWithin;
  while (!hung_up_ && clock_.now() < deadline) changed_.wait_for(mutex_, deadline - clock_.now());
  if (!hung_up_) context_->TryCancel();
}

}  // namespace mangrove::cluster
