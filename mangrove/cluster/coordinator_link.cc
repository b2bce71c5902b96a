#include "mangrove/cluster/coordinator_link.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <thread>

#include "mangrove/base/log.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/units.h"
#include "mangrove/cluster/cluster.grpc.pb.h"
#include "mangrove/cluster/failure_detector.h"
#include "mangrove/cluster/outbox.h"
#include "mangrove/cluster/rpc.h"
#include "mangrove/net/grpc_status.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kWelcomeWithin = 5;
constexpr Seconds kAskAgainAfter = 0.2;
constexpr double kTimesAsPatient = 10;  // with its coordinator as that is with a node
constexpr Seconds kFetchWithin = 600;   // a large model over a slow link
constexpr MemberId kCoordinator = 0;

Seconds interval_of(const Welcome& welcome) {
  return std::fmin(std::fmax(welcome.heartbeat_interval_s(), 0.01), 60);
}

/// A coordinator that is killed breaks the line at once, one that only stands still wakes to a job that goes on.
Seconds patience_of(const Welcome& welcome) {
  return kTimesAsPatient * welcome.silence_limit_s();
}

int misses_of(const Welcome& welcome) {
  return static_cast<int>(std::fmin(std::fmax(std::ceil(patience_of(welcome) / interval_of(welcome)), 2), kMostMisses));
}

}  // namespace

struct CoordinatorLink::Impl {
  Impl(std::shared_ptr<grpc::Channel> to, Measure with)
      : channel(std::move(to)),
        stub(Cluster::NewStub(channel)),
        measure(std::move(with)),
        stream(stub->Join(&context)),
        outbox([this](const FromNode& message) { return stream->Write(message); }, [this] { context.TryCancel(); }) {}

  Status greet(const NodeDescription& description, Deadline deadline, const std::stop_token& stop);
  void pulse(const std::stop_token& stop);
  void send_heartbeat();
  void heard();
  void end();

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<Cluster::Stub> stub;
  Measure measure;
  SteadyClock clock;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<FromNode, ToNode>> stream;
  Outbox<FromNode> outbox;
  Welcome welcome;
  Mutex measuring;  // never taken while `mutex` is held
  Mutex mutex;
  Condition changed;
  std::optional<FailureDetector> detector MG_GUARDED_BY(mutex);  // of the coordinator, from the welcome on
  bool over MG_GUARDED_BY(mutex) = false;                        // read() has returned false
  std::jthread heart;
};

/// Says hello and waits for the welcome.
Status CoordinatorLink::Impl::greet(const NodeDescription& description, Deadline deadline,
                                    const std::stop_token& stop) {
  FromNode hello;
  *hello.mutable_hello() = description;
  outbox.send(std::move(hello));
  ToNode first;
  bool read = false;
  {
    bool is_read = false;
    // a coordinator that is frozen accepts the call and never answers
    std::jthread guard([&](const std::stop_token& done) {
      MutexLock lock(mutex);
      while (!is_read && !done.stop_requested() && !stop.stop_requested() && clock.now() < deadline)
        changed.wait_for(mutex, std::min(deadline - clock.now(), 0.1));
      if (!is_read) context.TryCancel();
    });
    read = stream->Read(&first);
    MutexLock lock(mutex);
    is_read = true;
    changed.notify_all();
  }
  if (!first.has_welcome()) {
    if (read) context.TryCancel();  // else it has ended, and cancelling would hide why
    outbox.close(kLastWordsWithin);
    const Status status = net::from_grpc(stream->Finish());
    return status.ok() ? Status(make_error(Code::unavailable, "no welcome")) : status;
  }
  welcome = first.welcome();
  {
    MutexLock lock(mutex);
    detector.emplace(interval_of(welcome), misses_of(welcome));
  }
  heard();
  heart = std::jthread([this](const std::stop_token& ended) { pulse(ended); });
  return {};
}

void CoordinatorLink::Impl::pulse(const std::stop_token& stop) {
  const Seconds interval = interval_of(welcome);
  Instant next = clock.now();
  while (!stop.stop_requested()) {
    if (clock.now() >= next) {
      next = clock.after(interval);
      send_heartbeat();
    }
    MutexLock lock(mutex);
    if (stop.stop_requested()) return;
    changed.wait_for(mutex, std::clamp(next - clock.now(), 0.0, interval / 2));
    if (detector->lost(clock.now()).empty()) continue;
    log_warn("coordinator silent", {{"limit_s", patience_of(welcome)}});
    context.TryCancel();
    return;
  }
}

void CoordinatorLink::Impl::send_heartbeat() {
  FromNode message;
  {
    MutexLock lock(measuring);
    *message.mutable_heartbeat() = measure();
  }
  outbox.send(std::move(message));
}

void CoordinatorLink::Impl::heard() {
  MutexLock lock(mutex);
  detector->heard_from(kCoordinator, clock.now());
}

void CoordinatorLink::Impl::end() {
  MutexLock lock(mutex);
  over = true;
  changed.notify_all();
}

CoordinatorLink::CoordinatorLink(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<CoordinatorLink>> CoordinatorLink::join(const CoordinatorPlace& coordinator,
                                                               const NodeDescription& description,
                                                               const Measure& measure, Deadline deadline,
                                                               const std::stop_token& stop) {
  SteadyClock clock;
  const Seconds patience = std::max(deadline - clock.now(), 0.0);
  Status last;
  while (true) {
    // a new connection each time: one that broke without a word looks well for long
    const std::shared_ptr<grpc::Channel> channel = open_channel(coordinator.address, coordinator.credentials.get());
    last = wait_connected(*channel, deadline, stop);
    if (last.ok()) {
      auto impl = std::make_unique<Impl>(channel, measure);
      last = impl->greet(description, std::min(deadline, clock.after(kWelcomeWithin)), stop);
      if (last.ok()) return std::unique_ptr<CoordinatorLink>(new CoordinatorLink(std::move(impl)));
    }
    if (stop.stop_requested()) return make_error(Code::cancelled, "stopped while joining");
    if (!last.ok() && last.code() == Code::permission_denied) return last.error().context(coordinator.address);
    if (clock.now() + kAskAgainAfter >= deadline || last.code() == Code::unimplemented) break;
    clock.sleep_until(clock.after(kAskAgainAfter));
  }
  const std::string what =
      last.code() == Code::unimplemented
          ? "what answers is no mangrove coordinator"
          : "no coordinator answers (tried for " + format_seconds(patience) + ": " + last.error().message + ")";
  return make_error(Code::unavailable, coordinator.address + ": " + what +
                                           "; start one with: mangrove coordinator --listen " + coordinator.address);
}

CoordinatorLink::~CoordinatorLink() {
  impl_->context.TryCancel();
  impl_->heart.request_stop();
  {
    MutexLock lock(impl_->mutex);
    impl_->changed.notify_all();
  }
  if (impl_->heart.joinable()) impl_->heart.join();
  impl_->outbox.close(0);
  impl_->stream->Finish();
}

const std::string& CoordinatorLink::name() const {
  return impl_->welcome.name();
}

std::optional<Bytes> CoordinatorLink::longest_message() const {
  const Bytes told = impl_->welcome.longest_message();
  return told > 0 ? std::optional(told) : std::nullopt;
}

bool CoordinatorLink::read(ToNode& message) {
  while (impl_->stream->Read(&message)) {
    impl_->heard();
    if (!message.has_echo()) return true;
  }
  impl_->end();
  return false;
}

void CoordinatorLink::send(FromNode message) {
  impl_->outbox.send(std::move(message));
}

void CoordinatorLink::send_heartbeat() {
  impl_->send_heartbeat();
}

Result<JobSpec> CoordinatorLink::fetch_job(const std::string& job_id, const std::stop_token& stop) {
  grpc::ClientContext context;
  context.set_deadline(from_now(kFetchWithin));
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  GetJobRequest request;
  request.set_job_id(job_id);
  JobSpec job;
  MG_RETURN_IF_ERROR(net::from_grpc(impl_->stub->GetJob(&context, request, &job)).context("fetching the job"));
  return job;
}

void CoordinatorLink::leave(Seconds grace) {
  FromNode goodbye;
  goodbye.mutable_leaving();
  impl_->outbox.send(std::move(goodbye));
  impl_->outbox.close(grace);
  // the coordinator ends the stream when it has read the goodbye; cutting it at once could overtake that
  MutexLock lock(impl_->mutex);
  const Deadline deadline = impl_->clock.after(grace);
  while (!impl_->over && impl_->clock.now() < deadline)
    impl_->changed.wait_for(impl_->mutex, deadline - impl_->clock.now());
  if (!impl_->over) impl_->context.TryCancel();
}

}  // namespace mangrove::cluster
