#include "mangrove/cluster/enrolment_service.h"

#include <grpcpp/grpcpp.h>

#include "mangrove/base/log.h"
#include "mangrove/base/mutex.h"
#include "mangrove/cluster/address.h"
#include "mangrove/cluster/enrolment.grpc.pb.h"
#include "mangrove/cluster/enrolment.h"
#include "mangrove/cluster/message_limits.h"
#include "mangrove/cluster/rate_limit.h"
#include "mangrove/net/grpc_status.h"

namespace mangrove::cluster {
namespace {

using identity::Role;
using identity::wall_now;

std::int64_t seconds(identity::WallTime time) {
  return time.time_since_epoch().count();
}

Status no_registrar() {
  return make_error(Code::failed_precondition,
                    "this coordinator signs no certificates: start it without --state none, or take them from the "
                    "authority that its own is from");
}

}  // namespace

class EnrolmentService::Service final : public Enrolment::Service {
 public:
  Service(Registrar* registrar, Gate& gate, Listeners listeners)
      : registrar_(registrar), gate_(gate), listeners_(std::move(listeners)) {}

  grpc::Status Enrol(grpc::ServerContext* context, grpc::ServerReader<Unread>*, Signed* response) override {
    return net::to_grpc(enrol(*context, *response));
  }
  grpc::Status Renew(grpc::ServerContext* context, const RenewRequest* request, Signed* response) override {
    return net::to_grpc(renew(*context, *request, *response));
  }
  grpc::Status Invite(grpc::ServerContext* context, const InviteRequest* request, InviteResponse* response) override {
    return net::to_grpc(invite(*context, *request, *response));
  }
  grpc::Status ListMembers(grpc::ServerContext* context, const ListMembersRequest*,
                           ListMembersResponse* response) override {
    return net::to_grpc(list(*context, *response));
  }
  grpc::Status Revoke(grpc::ServerContext* context, const RevokeRequest* request, RevokeResponse*) override {
    return net::to_grpc(revoke(*context, *request));
  }
  grpc::Status ReplaceAuthority(grpc::ServerContext* context, const ReplaceAuthorityRequest*,
                                ReplaceAuthorityResponse* response) override {
    return net::to_grpc(replace(*context, *response));
  }

  void set_address(std::string address) {
    MutexLock lock(mutex_);
    address_ = std::move(address);
  }

 private:
  std::string address() const {
    MutexLock lock(mutex_);
    return address_;
  }
  /// The name of the admin who calls. errors: those of the gate; failed_precondition (nothing is signed here).
  Result<std::string> admin(const grpc::ServerContext& context, const char* call = __builtin_FUNCTION()) const {
    MG_TRY(const std::optional<net::Caller> caller, gate_.admit(context, {Role::admin}, call));
    if (registrar_ == nullptr || !caller) return no_registrar().error();
    return caller->subject.name;
  }
  /// Counts it, and returns the error.
  Error refuse(const grpc::ServerContext& context, Refusal why, Error error) const {
    gate_.refusals().count(why, context.peer(), error.message);
    return error;
  }
  Status check_length(const grpc::ServerContext& context, const google::protobuf::Message& question) const {
    Status checked = check_question(question);
    if (!checked.ok()) gate_.refusals().count(Refusal::message_too_long, context.peer(), checked.error().message);
    return checked;
  }
  void fill(Signed& response, const identity::Certificate& certificate) const {
    const Registrar::Believed others = registrar_->believed(wall_now());
    response.set_certificate(certificate.pem() + others.between);
    response.set_authorities(others.authorities);
  }

  Status enrol(const grpc::ServerContext& context, Signed& response);
  Status renew(const grpc::ServerContext& context, const RenewRequest& request, Signed& response);
  Status invite(const grpc::ServerContext& context, const InviteRequest& request, InviteResponse& response);
  Status list(const grpc::ServerContext& context, ListMembersResponse& response);
  Status revoke(const grpc::ServerContext& context, const RevokeRequest& request);
  Status replace(const grpc::ServerContext& context, ReplaceAuthorityResponse& response);

  Registrar* const registrar_;
  Gate& gate_;
  const Listeners listeners_;
  const SteadyClock clock_;
  RateLimit joins_{"joins from one address", kMostJoinsAMinute};
  mutable Mutex mutex_;
  std::string address_ MG_GUARDED_BY(mutex_);  // set while calls come in already
};

Status EnrolmentService::Service::enrol(const grpc::ServerContext& context, Signed& response) {
  if (registrar_ == nullptr) return no_registrar();
  if (Status taken = joins_.take(address_of(context.peer()), clock_.now()); !taken.ok()) {
    gate_.refusals().count(Refusal::too_many_joins, context.peer(), taken.error().message);
    return taken;
  }
  const auto header = context.client_metadata().find(kEnrolMetadata);
  EnrolRequest request;
  if (header == context.client_metadata().end() ||
      !request.ParseFromArray(header->second.data(), static_cast<int>(header->second.size())))
    return refuse(
        context, Refusal::bad_join_string,
        make_error(Code::invalid_argument, std::string("metadata ") + kEnrolMetadata + ": expected a request"));
  const auto parsed = identity::CertificateRequest::parse(request.request());
  if (!parsed.ok()) return refuse(context, Refusal::bad_join_string, parsed.error());
  const std::size_t revoked = registrar_->revoked().size();
  const auto signed_one = registrar_->enrol(request.invitation(), request.secret(), *parsed, wall_now());
  if (!signed_one.ok()) {
    gate_.refusals().count(Refusal::bad_join_string, context.peer(), signed_one.error().message);
    gate_.record_members(context, "join", request.invitation(), signed_one.error());
    return signed_one.error();
  }
  // the newcomer has taken over the name of a member, who is revoked now
  if (registrar_->revoked().size() != revoked) listeners_.revoked();
  fill(response, *signed_one);
  MG_TRY(const identity::Subject subject, signed_one->subject());
  gate_.record_members(context, "join", subject.uri() + " " + request.invitation());
  log_info("member joined", {{"name", subject.name}, {"role", role_name(subject.role)}, {"peer", context.peer()}});
  return {};
}

Status EnrolmentService::Service::renew(const grpc::ServerContext& context, const RenewRequest& request,
                                        Signed& response) {
  MG_TRY(const std::optional<net::Caller> caller,
         gate_.admit(context, {Role::node, Role::admin, Role::client, Role::viewer}));
  if (registrar_ == nullptr || !caller) return no_registrar();
  MG_RETURN_IF_ERROR(check_length(context, request));
  MG_TRY(const auto parsed, identity::CertificateRequest::parse(request.request()));
  // the member may have a younger certificate by now, but this connection was made with the old one
  if (caller->valid_to < wall_now())
    return refuse(context, Refusal::not_allowed,
                  make_error(Code::permission_denied, "the certificate of this connection has expired"));
  const auto certificate = registrar_->renew(caller->subject, caller->serial, parsed, wall_now());
  if (!certificate.ok()) {
    const bool asks_often = certificate.code() == Code::resource_exhausted;
    const Refusal why = asks_often ? Refusal::too_many_renewals : Refusal::not_allowed;
    gate_.refusals().count(why, context.peer(), certificate.error().message);
    gate_.record_members(context, "renew", caller->subject.uri(), certificate.error());
    return certificate.error();
  }
  fill(response, *certificate);
  gate_.renewed(caller->subject, certificate->valid_to());
  log_info("certificate renewed", {{"name", caller->subject.name}});
  gate_.record_members(context, "renew", caller->subject.uri());
  return {};
}

Status EnrolmentService::Service::invite(const grpc::ServerContext& context, const InviteRequest& request,
                                         InviteResponse& response) {
  MG_TRY(const std::string by, admin(context));
  MG_RETURN_IF_ERROR(check_length(context, request));
  MG_TRY(const Role role, identity::parse_role(request.role()));
  const Invitation invitation{role, request.name(), std::chrono::seconds(request.ttl_s()), request.uses()};
  const identity::WallTime now = wall_now();
  const auto made = registrar_->invite(invitation, reachable(address()), now);
  if (!made.ok()) {
    gate_.record_members(context, "invite", std::string(role_name(role)) + " " + request.name(), made.error());
    return made.error();
  }
  response.set_join_string(made->to_string());
  response.set_expires(seconds(now + invitation.ttl));
  log_info("invited", {{"role", role_name(role)}, {"invitation", made->id}, {"by", by}});
  gate_.record_members(context, "invite", std::string(role_name(role)) + " " + made->id);
  return {};
}

Status EnrolmentService::Service::list(const grpc::ServerContext& context, ListMembersResponse& response) {
  MG_RETURN_IF_ERROR(admin(context));
  MG_TRY(const std::vector<MemberRecord> members, registrar_->members(wall_now()));
  for (const MemberRecord& member : members) {
    MemberStatus& status = *response.add_members();
    status.set_name(member.subject.name);
    status.set_role(role_name(member.subject.role));
    status.set_state(member.is_revoked ? "revoked" : "member");
    status.set_since(seconds(member.since));
    status.set_expires(seconds(member.expires));
  }
  MG_TRY(const std::vector<OpenInvitation> invitations, registrar_->invitations(wall_now()));
  for (const OpenInvitation& open : invitations) {
    MemberStatus& status = *response.add_members();
    status.set_name(open.invitation.name);
    status.set_role(role_name(open.invitation.role));
    status.set_state("invited");
    status.set_expires(seconds(open.expires));
    status.set_invitation(open.id);
    status.set_uses_left(open.invitation.uses - open.used);
  }
  return {};
}

Status EnrolmentService::Service::revoke(const grpc::ServerContext& context, const RevokeRequest& request) {
  MG_TRY(const std::string by, admin(context));
  MG_RETURN_IF_ERROR(check_length(context, request));
  Status done = registrar_->revoke(request.name(), wall_now());
  gate_.record_members(context, "revoke", request.name(), done);
  if (!done.ok()) return done;
  log_info("revoked", {{"name", request.name()}, {"by", by}});
  listeners_.revoked();
  return {};
}

Status EnrolmentService::Service::replace(const grpc::ServerContext& context, ReplaceAuthorityResponse& response) {
  MG_TRY(const std::string by, admin(context));
  const auto former_until = registrar_->replace_authority(wall_now());
  if (!former_until.ok()) {
    gate_.record_members(context, "replace_authority", "", former_until.error());
    return former_until.error();
  }
  const std::string hash = registrar_->authority().certificate().hash();
  gate_.record_members(context, "replace_authority", hash);
  log_info("another authority signs", {{"authority", hash}, {"by", by}});
  MG_RETURN_IF_ERROR(listeners_.replaced());
  response.set_authority(hash);
  response.set_former_until(seconds(*former_until));
  return {};
}

EnrolmentService::EnrolmentService(Registrar* registrar, Gate& gate, Listeners listeners)
    : service_(std::make_unique<Service>(registrar, gate, std::move(listeners))) {}

EnrolmentService::~EnrolmentService() = default;

grpc::Service& EnrolmentService::service() {
  return *service_;
}

void EnrolmentService::set_address(std::string address) {
  service_->set_address(std::move(address));
}

}  // namespace mangrove::cluster
