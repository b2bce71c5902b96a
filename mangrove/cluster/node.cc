#include "mangrove/cluster/node.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "mangrove/base/awake_clock.h"
#include "mangrove/base/log.h"
#include "mangrove/cluster/address.h"
#include "mangrove/cluster/coordinator_link.h"
#include "mangrove/cluster/coordinator_search.h"
#include "mangrove/cluster/enrolment.h"
#include "mangrove/cluster/host.h"
#include "mangrove/cluster/message_limits.h"
#include "mangrove/cluster/network_signature.h"
#include "mangrove/cluster/node_checks.h"
#include "mangrove/cluster/reference_conv.h"
#include "mangrove/cluster/renewal.h"
#include "mangrove/cluster/resource_monitor.h"
#include "mangrove/cluster/role_runner.h"
#include "mangrove/cluster/rpc.h"
#include "mangrove/net/grpc_transport.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kLeaveWithin = 1;
constexpr Seconds kCallsEndWithin = 0.2;  // no role runs any more
constexpr Seconds kRejoinInPlainText = 600;
constexpr Seconds kSayEvery = 600;  // between lines in the log that it still tries

/// How long its certificate is still valid.
Seconds life_left(const net::Credentials& own) {
  return static_cast<Seconds>((own.current().certificate().valid_to() - identity::wall_now()).count());
}

}  // namespace

struct Node::Impl final : RoleHost {
  explicit Impl(NodeOptions given);

  Status open();
  Status join(Seconds patience, const std::stop_token& stop);
  Status join_at(const std::string& address, Deadline deadline, const std::stop_token& stop);
  Status rejoin(const std::stop_token& stop);
  void live(const std::stop_token& stop);
  void serve();
  void obey(const ToNode& message);
  ResourceUse measure();
  void shutdown();

  Result<JobSpec> fetch_job(const std::string& job_id, const std::stop_token& stop) override;
  void role_ended(RoleEnded ended) override;
  std::shared_ptr<CoordinatorLink> current_link();
  std::string coordinator_address();

  NodeOptions options;
  const std::shared_ptr<AwakeClock> awake = std::make_shared<AwakeClock>();
  Clock& clock = *awake;
  NodeDescription description;  // set by open()
  net::GrpcTransport transport{awake, options.credentials};
  ResourceMonitor monitor{clock};
  RoleRunner roles;
  std::unique_ptr<RpcServer> server;

  Mutex mutex;
  Condition changed;
  std::shared_ptr<CoordinatorLink> link MG_GUARDED_BY(mutex);          // nullptr: not joined now
  std::string coordinator MG_GUARDED_BY(mutex) = options.coordinator;  // where it was seen last
  std::string name MG_GUARDED_BY(mutex);
  Status gone MG_GUARDED_BY(mutex);  // why the coordinator is gone for good
  bool down MG_GUARDED_BY(mutex) = false;
  std::optional<Renewal> renewal;  // from the first joining on
  std::jthread life;
};

Node::Impl::Impl(NodeOptions given)
    : options(std::move(given)),
      roles({.transport = transport,
             .clock = clock,
             .data_folder = options.data_folder,
             .threads = options.threads,
             .play = options.play}) {}

/// Opens the port, describes the device.
Status Node::Impl::open() {
  MG_TRY(HostPort listen, parse_host_port(options.listen));
  MG_TRY(const HostPort to, parse_host_port(options.coordinator).context("coordinator"));
  MG_TRY(server, RpcServer::start(listen, {&transport.service()},
                                  {.credentials = options.credentials.get(),
                                   .insecure = options.insecure,
                                   .room = room_for(longest_by_memory())}));
  listen.port = server->port();
  if (listen.is_wildcard()) {
    MG_TRY(listen.host, local_host_towards(to).context("coordinator " + options.coordinator));
  }
  MG_RETURN_IF_ERROR(check_labels(options.labels));
  const Host host = describe_host();
  MG_TRY(const double flops, measure_reference_conv(options.threads, clock));
  description.set_name(options.name.empty() ? host.name : options.name);
  description.set_address(listen.to_string());
  description.set_host(host.identity);
  description.set_cores(host.cores);
  description.set_threads(options.threads);
  description.set_memory_bytes(host.memory);
  description.set_reference_conv_flops(flops);
  description.mutable_labels()->Add(options.labels.begin(), options.labels.end());
  return {};
}

Status Node::Impl::join(Seconds patience, const std::stop_token& stop) {
  const Deadline deadline = SteadyClock().after(patience);
  if (!options.searches || options.credentials == nullptr) return join_at(coordinator_address(), deadline, stop);
  return call_or_search(coordinator_address(), hashes_of(options.credentials->current().authorities()), deadline, stop,
                        [&](const std::string& at, Deadline until) { return join_at(at, until, stop); });
}

Status Node::Impl::join_at(const std::string& address, Deadline deadline, const std::stop_token& stop) {
  MG_TRY(std::shared_ptr<CoordinatorLink> joined,
         CoordinatorLink::join(
             {address, options.credentials}, description, [this] { return measure(); }, deadline, stop));
  MutexLock lock(mutex);
  // shutdown() takes leave of a link that is there before it; a later one would be read for ever
  if (down) return make_error(Code::cancelled, "shut down while joining");
  coordinator = address;
  name = joined->name();
  if (const auto longest = joined->longest_message()) transport.set_longest_payload(*longest - kLongestQuestion);
  link = std::move(joined);
  return {};
}

/// Tries until the certificate expires, unless the options say otherwise: the coordinator may be away for long, and a
/// board in a greenhouse has nobody who starts it again.
Status Node::Impl::rejoin(const std::stop_token& stop) {
  if (options.rejoin_timeout || options.credentials == nullptr)
    return join(options.rejoin_timeout.value_or(kRejoinInPlainText), stop);
  while (true) {
    const Seconds left = life_left(*options.credentials);
    Status joined = join(std::clamp(left, 0.0, kSayEvery), stop);
    if (joined.ok() || joined.code() != Code::unavailable || stop.stop_requested()) return joined;
    if (left <= kSayEvery) return std::move(joined).context("the certificate of this node has expired");
    log_warn("no coordinator answers: trying on",
             {{"coordinator", coordinator_address()}, {"certificate_left_s", left}});
  }
}

/// The time after the first joining: serves the coordinator, and joins again after a break.
void Node::Impl::live(const std::stop_token& stop) {
  while (true) {
    serve();
    roles.end_all();
    {
      MutexLock lock(mutex);
      link.reset();
    }
    if (stop.stop_requested()) return;
    log_warn("lost the coordinator: joining again", {{"coordinator", coordinator_address()}});
    Status joined = rejoin(stop);
    if (joined.ok()) continue;
    if (stop.stop_requested()) return;
    MutexLock lock(mutex);
    gone = std::move(joined);
    changed.notify_all();
    return;
  }
}

void Node::Impl::serve() {
  const std::shared_ptr<CoordinatorLink> line = current_link();
  ToNode message;
  while (line->read(message)) {
    if (message.has_rejected()) {
      log_warn("rejected", {{"reason", message.rejected().reason()}});
      return;
    }
    obey(message);
  }
}

void Node::Impl::obey(const ToNode& message) {
  if (message.has_start_role()) roles.start(message.start_role(), description.address(), coordinator_address(), *this);
  if (message.has_end_role()) roles.end(message.end_role().job_id());
  if (message.has_revoked()) transport.refuse({message.revoked().serials().begin(), message.revoked().serials().end()});
  if (!message.has_members_changed()) return;
  const MembersChanged& news = message.members_changed();
  roles.members_changed(news, coordinator_address());
  FromNode answer;
  answer.mutable_members_known()->set_job_id(news.job_id());
  answer.mutable_members_known()->set_version(news.version());
  current_link()->send(std::move(answer));
}

ResourceUse Node::Impl::measure() {
  const ProcessUse process = monitor.sample();
  ResourceUse use;
  use.set_cpu_percent(process.cpu_percent);
  use.set_rss_bytes(process.rss_bytes);
  use.set_minor_faults(process.minor_faults);
  use.set_major_faults(process.major_faults);
  use.mutable_core_percent()->Add(process.core_percent.begin(), process.core_percent.end());
  if (process.temperature_c) use.set_temperature_c(*process.temperature_c);
  roles.add_use(use);
  return use;
}

Result<JobSpec> Node::Impl::fetch_job(const std::string& job_id, const std::stop_token& stop) {
  const std::shared_ptr<CoordinatorLink> line = current_link();
  if (line == nullptr) return make_error(Code::unavailable, "no coordinator");
  MG_TRY(JobSpec job, line->fetch_job(job_id, stop));
  if (options.credentials != nullptr)
    MG_RETURN_IF_ERROR(check_networks(job, options.credentials->current().authorities()));
  return job;
}

void Node::Impl::role_ended(RoleEnded ended) {
  const std::shared_ptr<CoordinatorLink> line = current_link();
  if (line == nullptr) return;
  line->send_heartbeat();  // so that the job's account is complete
  FromNode message;
  *message.mutable_role_ended() = std::move(ended);
  line->send(std::move(message));
}

std::shared_ptr<CoordinatorLink> Node::Impl::current_link() {
  MutexLock lock(mutex);
  return link;
}

std::string Node::Impl::coordinator_address() {
  MutexLock lock(mutex);
  return coordinator;
}

void Node::Impl::shutdown() {
  {
    MutexLock lock(mutex);
    if (down) return;
    down = true;
    changed.notify_all();
  }
  life.request_stop();
  if (const auto line = current_link()) line->leave(kLeaveWithin);
  if (life.joinable()) life.join();
  roles.end_all();
  transport.shutdown(kCallsEndWithin);
  if (server) server->shutdown(kCallsEndWithin);
}

Result<std::unique_ptr<Node>> Node::start(const NodeOptions& options) {
  NodeOptions resolved = options;
  if (resolved.threads <= 0) resolved.threads = describe_host().cores;
  auto impl = std::make_unique<Impl>(std::move(resolved));
  MG_RETURN_IF_ERROR(impl->open());
  MG_RETURN_IF_ERROR(impl->join(impl->options.join_timeout, {}));
  if (const auto& own = impl->options.credentials; own != nullptr)
    impl->renewal.emplace(own->file(), [own, raw = impl.get()] { return renew(raw->coordinator_address(), *own); });
  impl->life = std::jthread([raw = impl.get()](const std::stop_token& stop) { raw->live(stop); });
  return std::unique_ptr<Node>(new Node(std::move(impl)));
}

Node::Node(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Node::~Node() {
  impl_->shutdown();
}

std::string Node::name() const {
  MutexLock lock(impl_->mutex);
  return impl_->name;
}

std::string Node::address() const {
  return impl_->description.address();
}

std::string Node::coordinator() const {
  return impl_->coordinator_address();
}

bool Node::is_joined() const {
  return impl_->current_link() != nullptr;
}

Status Node::wait(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { impl_->changed.notify_all(); });
  MutexLock lock(impl_->mutex);
  while (!stop.stop_requested() && !impl_->down && impl_->gone.ok()) impl_->changed.wait_for(impl_->mutex, 0.5);
  return impl_->gone;
}

void Node::shutdown() {
  impl_->shutdown();
}

}  // namespace mangrove::cluster
