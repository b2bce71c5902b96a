#include "mangrove/net/grpc_transport.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "mangrove/base/log.h"
#include "mangrove/net/local_endpoints.h"
#include "mangrove/net/peer_links.h"
#include "mangrove/net/peer_service.h"

namespace mangrove::net {
namespace {

/// The destination of each rank, at its index. Ranks that this process holds have no address.
using Destinations = std::vector<Destination>;

struct Joined {
  std::string own_address;
  Destinations to;
};

Result<Destinations> check_addresses(Rank rank, const std::map<Rank, std::string>& addresses, const Subjects& subjects,
                                     const std::string& own_address, const Members& members) {
  Destinations checked;
  for (const Member& member : members.all) {
    if (member.rank != static_cast<Rank>(checked.size())) {
      return make_error(Code::invalid_argument,
                        "members: rank " + std::to_string(member.rank) + " at place " + std::to_string(checked.size()));
    }
    const auto found = addresses.find(member.rank);
    if (found == addresses.end() && member.alive && member.rank != rank) {
      return make_error(Code::invalid_argument, "rank " + std::to_string(member.rank) + " has no address");
    }
    const bool local = found == addresses.end() || member.rank == rank || found->second == own_address;
    const auto subject = subjects.find(member.rank);
    checked.push_back(local ? Destination()
                            : Destination{found->second, subject == subjects.end() ? "" : subject->second});
  }
  if (rank < 0 || rank >= static_cast<Rank>(checked.size())) {
    return make_error(Code::invalid_argument,
                      "rank " + std::to_string(rank) + " of " + std::to_string(checked.size()) + " ranks");
  }
  return checked;
}

}  // namespace

struct GrpcTransport::Impl {
  Impl(std::shared_ptr<const Clock> clock, std::shared_ptr<const Credentials> credentials)
      : jobs(std::make_shared<LocalEndpoints>(ParkingLimits(), std::move(clock))),
        service(jobs, credentials != nullptr),
        links([this] { look_at_time(); }, std::move(credentials)) {}
  void look_at_time() {
    jobs->expire();
    service.cut_expired(identity::wall_now());
  }

  const std::shared_ptr<LocalEndpoints> jobs;
  PeerService service;
  PeerLinks links;

  std::atomic<Bytes> longest_payload = kLongestPayload;
  Mutex mutex;  // before those of jobs and links
  bool closed MG_GUARDED_BY(mutex) = false;
  std::map<std::pair<std::string, Rank>, Joined> joined MG_GUARDED_BY(mutex);

  void drop_lost(const std::string& job, const Destinations& to, const Members& members);
  bool add_newcomers(Rank rank, Joined& of, const Members& members, const std::map<Rank, std::string>& addresses,
                     const Subjects& subjects) MG_REQUIRES(mutex);
  Destination destination(const std::string& job, Rank rank, Rank of);
  void leave(const std::string& job, Rank rank);
};

namespace {

class GrpcEndpoint final : public Endpoint {
 public:
  GrpcEndpoint(GrpcTransport::Impl& transport, std::string job, Rank rank, std::shared_ptr<LocalRank> local)
      : transport_(transport), job_(std::move(job)), rank_(rank), local_(std::move(local)) {}
  ~GrpcEndpoint() override { transport_.leave(job_, rank_); }

  Rank rank() const override { return rank_; }
  int size() const override { return local_->mailbox.size(); }
  Members members() const override { return local_->mailbox.members(); }
  Traffic traffic() const override { return local_->meter.read(); }
  void cancel() override { local_->mailbox.cancel(); }

  void send(Rank to, Tag tag, std::string payload) override;
  Bytes queued_bytes(Rank to, Tag tag) const override {
    const Destination there = transport_.destination(job_, rank_, to);
    return there.address.empty() ? 0 : transport_.links.queued_bytes(there, job_, to, tag);
  }
  Result<Message> recv(const RankSet& from, Tag tag, Deadline deadline) override {
    return local_->mailbox.recv(from, {tag}, deadline);
  }
  Result<Message> recv_any(const RankSet& from, const std::vector<Tag>& tags, Deadline deadline) override {
    return local_->mailbox.recv(from, tags, deadline);
  }

 private:
  GrpcTransport::Impl& transport_;
  const std::string job_;
  const Rank rank_;
  const std::shared_ptr<LocalRank> local_;
};

void GrpcEndpoint::send(Rank to, Tag tag, std::string payload) {
  MG_CHECK_MSG(to >= 0 && to < size(), "rank " + std::to_string(to) + " of " + std::to_string(size()));
  if (!local_->mailbox.alive(to)) return;
  if (static_cast<Bytes>(payload.size()) > transport_.longest_payload.load()) {
    log_error("message dropped: too long", {{"job", job_}, {"to", to}, {"tag", tag}, {"bytes", payload.size()}});
    return;
  }
  const Destination there = transport_.destination(job_, rank_, to);
  if (there.address.empty()) {
    const std::size_t bytes = payload.size();
    local_->meter.sent(to, tag, bytes);
    return transport_.jobs->deliver(job_, to, {rank_, tag, std::move(payload)}, bytes);
  }
  auto message = std::make_unique<Outgoing>();
  message->envelope.set_job(job_);
  message->envelope.set_from(rank_);
  message->envelope.set_to(to);
  message->envelope.set_tag(tag);
  message->envelope.set_payload(std::move(payload));
  message->meter = std::shared_ptr<TrafficMeter>(local_, &local_->meter);
  transport_.links.send(there, std::move(message));
}

}  // namespace

void GrpcTransport::Impl::drop_lost(const std::string& job, const Destinations& to, const Members& members) {
  for (Rank rank = 0; rank < static_cast<Rank>(to.size()); ++rank) {
    const Destination& one = to[static_cast<std::size_t>(rank)];
    if (!one.address.empty() && !members.alive(rank)) links.drop(one, job, rank);
  }
}

/// False: the news cannot be used.
bool GrpcTransport::Impl::add_newcomers(Rank rank, Joined& of, const Members& members,
                                        const std::map<Rank, std::string>& addresses, const Subjects& subjects) {
  const std::size_t known = of.to.size();
  if (members.all.size() <= known) return true;
  std::map<Rank, std::string> all = addresses;
  for (std::size_t i = 0; i < known; ++i) all[static_cast<Rank>(i)] = of.to[i].address;
  const Result<Destinations> checked = check_addresses(rank, all, subjects, of.own_address, members);
  if (!checked.ok()) {
    log_warn("members ignored", {{"message", checked.error().message}});
    return false;
  }
  for (std::size_t i = known; i < checked->size(); ++i) {
    of.to.push_back((*checked)[i]);
    if (!of.to.back().address.empty()) links.add_user(of.to.back());
  }
  return true;
}

Destination GrpcTransport::Impl::destination(const std::string& job, Rank rank, Rank of) {
  MutexLock lock(mutex);
  return joined.at({job, rank}).to.at(static_cast<std::size_t>(of));
}

void GrpcTransport::Impl::leave(const std::string& job, Rank rank) {
  MutexLock lock(mutex);
  jobs->leave(job, rank);
  const auto entry = joined.find({job, rank});
  for (const Destination& to : entry->second.to) {
    if (!to.address.empty()) links.remove_user(to);
  }
  joined.erase(entry);
}

GrpcTransport::GrpcTransport(std::shared_ptr<const Clock> clock, std::shared_ptr<const Credentials> credentials)
    : impl_(std::make_unique<Impl>(std::move(clock), std::move(credentials))) {}

GrpcTransport::~GrpcTransport() {
  MG_CHECK_MSG(impl_->joined.empty(), "an endpoint outlives its transport");
  shutdown(0);
}

grpc::Service& GrpcTransport::service() {
  return impl_->service;
}

Result<std::unique_ptr<Endpoint>> GrpcTransport::join(const std::string& job, Rank rank,
                                                      std::map<Rank, std::string> addresses,
                                                      const std::string& own_address, Members members,
                                                      Subjects subjects) {
  MG_TRY(Destinations checked, check_addresses(rank, addresses, subjects, own_address, members).context("job " + job));
  MutexLock lock(impl_->mutex);
  if (impl_->closed) return make_error(Code::cancelled, "job " + job + ": this process is shutting down");
  MG_TRY(std::shared_ptr<LocalRank> local, impl_->jobs->join(job, rank, members, std::move(subjects)));
  for (const Destination& to : checked) {
    if (!to.address.empty()) impl_->links.add_user(to);
  }
  impl_->drop_lost(job, checked, members);
  impl_->joined[{job, rank}] = {own_address, std::move(checked)};
  return std::make_unique<GrpcEndpoint>(*impl_, job, rank, std::move(local));
}

void GrpcTransport::set_members(const std::string& job, const Members& members,
                                const std::map<Rank, std::string>& addresses, const Subjects& subjects) {
  MutexLock lock(impl_->mutex);
  const auto first = impl_->joined.lower_bound({job, 0});
  // addresses first: who finds a rank among the members may send to it
  for (auto entry = first; entry != impl_->joined.end() && entry->first.first == job; ++entry) {
    if (!impl_->add_newcomers(entry->first.second, entry->second, members, addresses, subjects)) return;
  }
  impl_->jobs->set_members(job, members, subjects);
  for (auto entry = first; entry != impl_->joined.end() && entry->first.first == job; ++entry) {
    impl_->drop_lost(job, entry->second.to, members);
  }
}

void GrpcTransport::on_refused(OnRefused listener) {
  impl_->jobs->on_refused(std::move(listener));
}

void GrpcTransport::refuse(const std::set<std::string>& serials) {
  impl_->service.refuse(serials);
}

void GrpcTransport::set_longest_payload(Bytes bytes) {
  impl_->longest_payload = std::clamp(bytes, Bytes{0}, kLongestPayload);
}

void GrpcTransport::shutdown(Seconds grace) {
  {
    MutexLock lock(impl_->mutex);
    impl_->closed = true;
  }
  impl_->links.shutdown(grace);
  impl_->service.shutdown();
}

}  // namespace mangrove::net
