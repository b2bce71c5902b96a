#include "mangrove/dashboard/access.h"

#include "mangrove/identity/digest.h"

namespace mangrove::dashboard {
namespace {

using identity::Role;

constexpr std::size_t kTokenBytes = 16;

/// 0: it may do nothing here.
int rank_of(Role role) {
  if (role == Role::admin) return 3;
  if (role == Role::client) return 2;
  return role == Role::viewer ? 1 : 0;
}

int rank_needed(Right right) {
  return right == Right::look ? 1 : right == Right::act ? 2 : 3;
}

}  // namespace

std::string make_token() {
  return identity::random_hex(kTokenBytes);
}

Result<Role> Access::role_of(const std::optional<identity::Subject>& member, std::string_view authorization) const {
  Role shown = Role::node;
  if (member && rank_of(member->role) > 0) {
    shown = member->role;
  } else {
    const std::string_view token = serve::bearer_token(authorization);
    if (token.empty())
      return make_error(Code::permission_denied, "a token is needed: the header Authorization with Bearer TOKEN");
    const std::optional<std::string_view> holder = tokens_.holder(token);
    if (!holder) return make_error(Code::permission_denied, "this token is not known");
    MG_TRY(shown, identity::parse_role(*holder));
  }
  return rank_of(shown) < rank_of(own_) ? shown : own_;
}

Status Access::check(Role role, Right right) {
  if (rank_of(role) >= rank_needed(right)) return {};
  return make_error(Code::permission_denied, std::string("a ") + role_name(role) + " may not do this; " +
                                                 (right == Right::act ? "a client" : "an admin") + " may");
}

}  // namespace mangrove::dashboard
