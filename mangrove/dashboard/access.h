#pragma once

#include <string>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/dashboard/routes.h"
#include "mangrove/identity/subject.h"
#include "mangrove/serve/http/tokens.h"

namespace mangrove::dashboard {

/// Who may hold a token, the one who may do least first: the roles of people in a cluster.
constexpr const char* kTokenHolders[] = {"viewer", "client", "admin"};

/// A token that nobody can guess: 32 hexadecimal digits.
std::string make_token();

/// Who calls.
struct Caller {
  identity::Role role;
  std::string name;       // of the token, for comparison alone
  bool is_owner = false;  // may do all that the dashboard may: the coordinator says what that is
};

/// Who may call what: who shows a token. Nobody may do more than the dashboard itself. A certificate does not count:
/// the dashboard does not hear which ones are revoked, and a browser shows it to every page that asks. threads: any
/// thread may call any method.
class Access {
 public:
  /// own: what the dashboard itself may do at the coordinator.
  Access(identity::Role own, serve::Tokens tokens) : own_(own), tokens_(std::move(tokens)) {}

  /// errors: permission_denied (says what is needed).
  Result<Caller> caller_of(std::string_view authorization) const;
  /// errors: permission_denied.
  static Status check(identity::Role role, Right right);

 private:
  const identity::Role own_;
  const serve::Tokens tokens_;
};

}  // namespace mangrove::dashboard
