#include "mangrove/dashboard/access.h"

#include <optional>

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

Result<Caller> Access::caller_of(std::string_view authorization) const {
  const std::string_view token = serve::bearer_token(authorization);
  if (token.empty())
    return make_error(Code::permission_denied, "a token is needed: the header Authorization with Bearer TOKEN");
  const std::optional<std::string_view> holder = tokens_.holder(token);
  if (!holder) return make_error(Code::permission_denied, "this token is not known");
  MG_TRY(const Role shown, identity::parse_role(*holder));
  const bool is_owner = rank_of(shown) >= rank_of(own_);
  return Caller{.role = is_owner ? own_ : shown, .name = identity::sha256(token), .is_owner = is_owner};
}

Status Access::check(Role role, Right right) {
  if (rank_of(role) >= rank_needed(right)) return {};
  return make_error(Code::permission_denied, std::string("a ") + role_name(role) + " may not do this; " +
                                                 (right == Right::act ? "a client" : "an admin") + " may");
}

}  // namespace mangrove::dashboard
