#include "mangrove/cluster/gate.h"

#include <grpcpp/server_context.h>

#include <algorithm>

#include "mangrove/base/suggestion.h"
#include "mangrove/net/grpc_status.h"

namespace mangrove::cluster {

using identity::Role;

Result<std::optional<net::Caller>> Gate::admit(const grpc::ServerContextBase& context,
                                               std::initializer_list<Role> roles, const char* call) const {
  if (!asks_who_) return std::optional<net::Caller>();
  std::optional<net::Caller> caller = net::caller(context);
  const Status allowed = check(caller, roles);
  if (allowed.ok()) return caller;
  record(context, call, "", allowed);
  return allowed.error();
}

Status Gate::check(const std::optional<net::Caller>& caller, std::initializer_list<Role> roles) const {
  if (!caller)
    return make_error(Code::permission_denied,
                      "no certificate was shown; join the cluster first, with a string of: mangrove invite");
  const identity::Subject& subject = caller->subject;
  if (is_revoked(caller->serial)) return make_error(Code::permission_denied, subject.name + " was revoked");
  if (has_expired(subject.uri(), caller->valid_to, identity::wall_now()))
    return make_error(Code::permission_denied,
                      "the certificate of " + subject.name + " has expired on " + identity::to_text(caller->valid_to));
  if (std::ranges::find(roles, subject.role) != roles.end()) return {};
  std::vector<std::string> names;
  for (const Role role : roles) names.emplace_back(role_name(role));
  return make_error(Code::permission_denied, "the certificate of " + subject.name + " has the role " +
                                                 role_name(subject.role) +
                                                 ", which may not do this; may: " + join_words(names));
}

AuditLog::Entry Gate::entry(const grpc::ServerContextBase& context, const std::string& what, const std::string& about,
                            const Status& outcome) {
  const std::optional<net::Caller> caller = net::caller(context);
  return {.who = caller ? caller->subject.uri() : "",
          .from = context.peer(),
          .what = what,
          .about = about,
          .outcome = outcome.ok() ? "ok" : code_name(outcome.code()) + std::string(": ") + outcome.error().message};
}

void Gate::record(const grpc::ServerContextBase& context, const std::string& what, const std::string& about,
                  const Status& outcome) const {
  if (!outcome.ok() && outcome.code() == Code::permission_denied)
    refusals_.count(Refusal::not_allowed, context.peer(), outcome.error().message);
  if (audit_ != nullptr) audit_->write(entry(context, what, about, outcome));
}

grpc::Status Gate::refuse(const grpc::ServerContextBase& context, Refusal why, const Status& error,
                          const std::string& what) const {
  refusals_.count(why, context.peer(), error.error().message);
  if (audit_ != nullptr) audit_->write(entry(context, what, "", error));
  return net::to_grpc(error);
}

void Gate::record_members(const grpc::ServerContextBase& context, const std::string& what, const std::string& about,
                          const Status& outcome) const {
  if (audit_ == nullptr) return;
  AuditLog::Entry made = entry(context, what, about, outcome);
  made.changes_members = outcome.ok();
  audit_->write(made);
}

Status Gate::check_owner(const std::optional<net::Caller>& caller, const std::string& owner) {
  if (!caller || caller->subject.role == Role::admin || caller->subject.uri() == owner) return {};
  const auto other = identity::parse_subject(owner);
  return make_error(Code::permission_denied, "the job belongs to " +
                                                 (other.ok() ? other->name : "somebody without a certificate") +
                                                 "; only who began it, and admins, may do this");
}

void Gate::renewed(const identity::Subject& member, identity::WallTime until) {
  MutexLock lock(mutex_);
  identity::WallTime& known = renewed_[member.uri()];
  known = std::max(known, until);
}

bool Gate::has_expired(const std::string& member, identity::WallTime valid_to, identity::WallTime now) const {
  if (now <= valid_to) return false;
  MutexLock lock(mutex_);
  const auto younger = renewed_.find(member);
  return younger == renewed_.end() || now > younger->second;
}

}  // namespace mangrove::cluster
