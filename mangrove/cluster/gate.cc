#include "mangrove/cluster/gate.h"

#include <algorithm>
#include <string>

#include "mangrove/base/log.h"
#include "mangrove/base/suggestion.h"

namespace mangrove::cluster {

using identity::Role;

Result<std::optional<net::Caller>> Gate::admit(const grpc::ServerContextBase& context,
                                               std::initializer_list<Role> roles) const {
  if (!asks_who_) return std::optional<net::Caller>();
  std::optional<net::Caller> caller = net::caller(context);
  if (!caller)
    return make_error(Code::permission_denied,
                      "no certificate was shown; join the cluster first, with a string of: mangrove invite");
  const identity::Subject& subject = caller->subject;
  if (registrar_ != nullptr && registrar_->is_revoked(caller->serial))
    return make_error(Code::permission_denied, subject.name + " was revoked");
  if (std::ranges::find(roles, subject.role) != roles.end()) return caller;
  std::vector<std::string> names;
  for (const Role role : roles) names.emplace_back(role_name(role));
  log_warn("refused by role", {{"name", subject.name}, {"role", role_name(subject.role)}});
  return make_error(Code::permission_denied, "the certificate of " + subject.name + " has the role " +
                                                 role_name(subject.role) +
                                                 ", which may not do this; may: " + join_words(names));
}

Status Gate::check_owner(const std::optional<net::Caller>& caller, const std::string& owner) {
  if (!caller || caller->subject.role == Role::admin || caller->subject.uri() == owner) return {};
  const auto other = identity::parse_subject(owner);
  return make_error(Code::permission_denied, "the job belongs to " +
                                                 (other.ok() ? other->name : "somebody without a certificate") +
                                                 "; only who began it, and admins, may do this");
}

bool Gate::is_revoked(const grpc::ServerContextBase& context) const {
  if (!asks_who_ || registrar_ == nullptr) return false;
  const std::optional<net::Caller> caller = net::caller(context);
  return caller && registrar_->is_revoked(caller->serial);
}

}  // namespace mangrove::cluster
