#include "mangrove/serve/protocol/access.h"

#include <iterator>

namespace mangrove::serve {
namespace {

constexpr std::string_view kAdmin = *std::rbegin(kTokenHolders);

Error denied(const std::string& why) {
  return make_error(Code::permission_denied, why);
}

bool may(identity::Role role, Right right) {
  using identity::Role;
  return role == Role::admin || (role == Role::client && right != Right::manage) ||
         (role == Role::viewer && right == Right::look);
}

}  // namespace

Status AccessRules::admit_token(Right right, std::string_view authorization) const {
  const std::string_view token = bearer_token(authorization);
  if (token.empty())
    return denied(tokens_ ? "a token is needed: the header Authorization with Bearer TOKEN"
                          : "a certificate of the cluster is needed");
  const auto holder = tokens_ ? tokens_->holder(token) : std::nullopt;
  if (!holder) return denied("this token is not known");
  if (right == Right::manage && *holder != kAdmin) return denied("loading and unloading models takes an admin's token");
  return {};
}

std::string AccessRules::who(const Shown& shown) const {
  if (shown.member) return shown.member->uri();
  const auto holder = tokens_ ? tokens_->holder(bearer_token(shown.authorization)) : std::nullopt;
  return holder ? std::string(*holder) + " token" : "";
}

Status AccessRules::admit(Right right, const Shown& shown) const {
  if (right == Right::none) return {};
  if (!asks()) {
    if (right != Right::manage) return {};
    return denied(
        "loading and unloading models takes an admin's token or certificate, and this server has neither: "
        "start it with --token-file or --identity");
  }
  if (shown.member && may(shown.member->role, right)) return {};
  if (!shown.member || !shown.authorization.empty()) return admit_token(right, shown.authorization);
  return denied(std::string("a ") + identity::role_name(shown.member->role) + " may not do this");
}

}  // namespace mangrove::serve
