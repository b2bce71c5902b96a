#include "mangrove/cluster/coordinator.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <thread>

#include "mangrove/base/awake_clock.h"
#include "mangrove/base/log.h"
#include "mangrove/cluster/address.h"
#include "mangrove/cluster/audit_log.h"
#include "mangrove/cluster/cluster_service.h"
#include "mangrove/cluster/coordinator_search.h"
#include "mangrove/cluster/discovery.h"
#include "mangrove/cluster/enrolment_service.h"
#include "mangrove/cluster/gate.h"
#include "mangrove/cluster/job_queue.h"
#include "mangrove/cluster/membership.h"
#include "mangrove/cluster/message_limits.h"
#include "mangrove/cluster/node_allocator.h"
#include "mangrove/cluster/renewal.h"
#include "mangrove/cluster/rpc.h"
#include "mangrove/net/grpc_transport.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kJobEndsWithin = 25;      // when it is asked to stop: the job's own 20 s, and what comes after
constexpr Seconds kClientHearsWithin = 10;  // of the job's end
constexpr Seconds kCallsEndWithin = 0.2;    // no job runs any more

/// A word that no other start of a coordinator has: nodes keep messages by job for a while.
std::string unique_prefix() {
  std::string uuid;
  std::ifstream("/proc/sys/kernel/random/uuid") >> uuid;
  return "job-" + uuid.substr(0, 8);
}

/// A new certificate for the admin who runs the coordinator.
/// errors: permission_denied (the admin was revoked), those of Identity::load() and Registrar::issue().
Result<identity::Identity> renew_admin(Registrar& registrar) {
  MG_TRY(const identity::Identity old, identity::Identity::load(registrar.admin_file()));
  if (registrar.is_revoked(old.certificate().serial()))
    return make_error(Code::permission_denied, old.subject().name + " was revoked");
  return registrar.issue(old.subject(), identity::wall_now());
}

}  // namespace

struct Coordinator::Impl {
  Impl(const CoordinatorOptions& given, std::unique_ptr<JobStore> kept);
  Status open();
  void watch(const std::stop_token& stop);
  void cut_revoked();
  void count(net::Refused what);
  Status replace_authority();
  void shutdown();

  const CoordinatorOptions options;
  const Bytes longest =
      std::min((options.max_model > 0 ? options.max_model : longest_by_memory()) + kLongestSettings, kLongestPossible);
  std::string address;  // set by open()
  const std::shared_ptr<AwakeClock> awake = std::make_shared<AwakeClock>();
  Clock& clock = *awake;
  Refusals refusals{clock};
  Membership membership;
  NodeAllocator allocator{membership};
  net::GrpcTransport transport{awake, options.credentials};
  const std::unique_ptr<JobStore> store;  // nullptr: nothing is kept
  JobQueue jobs;
  const std::unique_ptr<AuditLog> audit =  // nullptr: nothing is kept
      options.state_folder.empty() ? nullptr : std::make_unique<AuditLog>(options.state_folder / "audit.jsonl");
  Gate gate{options.credentials != nullptr, options.registrar, audit.get(), refusals};
  ClusterService service;
  std::optional<Renewal> renewal, admins_renewal;  // of the coordinator's certificate and its user's, if it signs
  EnrolmentService enrolment{
      options.registrar,
      gate,
      {.revoked = [this] { cut_revoked(); }, .replaced = [this] { return replace_authority(); }}};
  std::unique_ptr<RpcServer> server;
  Mutex mutex;
  Condition woken;
  bool down MG_GUARDED_BY(mutex) = false;
  std::unique_ptr<Announcement> announcement MG_GUARDED_BY(mutex);  // null: it does not announce itself
  std::jthread watcher;
};

Coordinator::Impl::Impl(const CoordinatorOptions& given, std::unique_ptr<JobStore> kept)
    : options(given),
      membership(given.heartbeat_interval, given.heartbeat_misses),
      store(std::move(kept)),
      jobs({.membership = membership,
            .allocator = allocator,
            .transport = transport,
            .clock = clock,
            .credentials = given.credentials,
            .silence_limit = given.heartbeat_interval * given.heartbeat_misses,
            .data_folder = given.data_folder,
            .check = given.check,
            .play = given.play},
           unique_prefix(), store.get()),
      service(membership, jobs, gate, clock,
              {.heartbeat_interval = given.heartbeat_interval,
               .silence_limit = given.heartbeat_interval * given.heartbeat_misses,
               .longest_message = longest}) {
  transport.set_longest_payload(longest - kLongestQuestion);
  transport.on_refused([this](net::Refused what) { count(what); });
}

void Coordinator::Impl::count(net::Refused what) {
  switch (what) {
    case net::Refused::caller:
      return refusals.count(Refusal::not_allowed);
    case net::Refused::link:
      return refusals.count(Refusal::too_many_streams);
    case net::Refused::message_without_room:
      return refusals.count(Refusal::no_room_for_message);
    case net::Refused::rank:
      return refusals.count(Refusal::rank_of_another);
  }
}

Status Coordinator::Impl::open() {
  transport.refuse(gate.revoked());
  MG_TRY(HostPort listen, parse_host_port(options.listen));
  if (Registrar* const registrar = options.registrar; registrar != nullptr && options.credentials != nullptr)
    renewal.emplace(
        options.credentials->file(),
        [registrar, who = options.credentials->subject()] { return registrar->issue(who, identity::wall_now()); },
        // the authority was replaced, or the one before it is not believed any more
        [registrar](const identity::Identity& own) {
          return own.authorities_pem() != registrar->believed(identity::wall_now()).authorities;
        });
  MG_TRY(server, RpcServer::start(listen, {&service.service(), &enrolment.service(), &transport.service()},
                                  {.credentials = options.credentials.get(),
                                   .strangers_call = EnrolmentService::kOpenToStrangers,
                                   .on_refused = [this](net::Refused what) { count(what); },
                                   .insecure = options.insecure,
                                   .longest_message = longest,
                                   .room = room_for(longest)}));
  listen.port = server->port();
  enrolment.set_address(listen.to_string());
  if (options.announces && options.credentials != nullptr && !listen.is_loopback()) {
    MutexLock lock(mutex);
    announcement = std::make_unique<Announcement>(listen, hashes_of(options.credentials->identity().authorities()));
  }
  address = reachable(listen.to_string());
  if (options.registrar != nullptr)
    admins_renewal.emplace(options.registrar->admin_file(),
                           [registrar = options.registrar] { return renew_admin(*registrar); });
  jobs.open(address);
  watcher = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  return {};
}

/// Takes a certificate of the new authority into use.
Status Coordinator::Impl::replace_authority() {
  if (renewal) MG_RETURN_IF_ERROR(renewal->look());
  MutexLock lock(mutex);
  if (announcement == nullptr) return {};
  MG_TRY(const identity::Identity own, identity::Identity::load(options.credentials->file()));
  announcement->set_authorities(hashes_of(own.authorities()));
  return {};
}

void Coordinator::Impl::cut_revoked() {
  transport.refuse(gate.revoked());
  service.cut_revoked();
}

/// Looks for silent nodes and mute streams several times within the limits for them.
void Coordinator::Impl::watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Instant now = clock.now();
    for (const MemberId member : membership.expire(now)) {
      log_warn("node lost: no heartbeat", {{"member", member}});
      jobs.each_run([&](JobAttempt& job) { job.member_gone(member, MemberState::lost); });
    }
    service.cut_mute_streams(now);
    service.cut_expired(identity::wall_now());
    MutexLock lock(mutex);
    if (!stop.stop_requested()) woken.wait_for(mutex, options.heartbeat_interval / 2);
  }
}

void Coordinator::Impl::shutdown() {
  std::unique_ptr<Announcement> withdrawn;  // first, so that nobody finds a coordinator that ends
  {
    MutexLock lock(mutex);
    if (down) return;
    down = true;
    withdrawn = std::move(announcement);
  }
  withdrawn.reset();
  if (server == nullptr) return;
  jobs.shutdown(clock.after(kJobEndsWithin));
  service.shutdown(clock.after(kClientHearsWithin));
  transport.shutdown(kCallsEndWithin);
  server->shutdown(kCallsEndWithin);
  watcher.request_stop();
  woken.notify_all();
  watcher.join();
}

Result<std::unique_ptr<Coordinator>> Coordinator::start(const CoordinatorOptions& options) {
  std::unique_ptr<JobStore> store;
  if (!options.state_folder.empty()) {
    MG_TRY(store, JobStore::open(options.state_folder));
  }
  auto impl = std::make_unique<Impl>(options, std::move(store));
  MG_RETURN_IF_ERROR(impl->open());
  return std::unique_ptr<Coordinator>(new Coordinator(std::move(impl)));
}

Coordinator::Coordinator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Coordinator::~Coordinator() {
  impl_->shutdown();
}

std::string Coordinator::address() const {
  return impl_->address;
}

std::int64_t Coordinator::nodes() const {
  return std::ssize(impl_->membership.alive());
}

void Coordinator::shutdown() {
  impl_->shutdown();
}

}  // namespace mangrove::cluster
