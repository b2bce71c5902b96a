#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "mangrove/base/result.h"
#include "mangrove/identity/subject.h"
#include "mangrove/serve/http/tokens.h"

namespace mangrove::serve {

/// What a call does.
enum class Right {
  none,    // says whether the server runs: everybody may ask
  look,    // reads what models there are, and what they have done
  infer,   // asks a model
  manage,  // loads and unloads models
};

/// Who may hold a token: a user, and an admin, who may also load and unload models.
constexpr const char* kTokenHolders[] = {"user", "admin"};

/// What a client has shown.
struct Shown {
  std::optional<identity::Subject> member;  // its certificate
  std::string_view authorization;           // the header Authorization; "": none
};

/// Who may call what.
///
/// With certificates or tokens, a client needs one of both: clients and admins of the cluster, and all tokens, may
/// look and infer; admins and admin tokens may manage; viewers may look. Without them everybody who reaches the server
/// may look and infer, and nobody may manage: a web page that is open in a browser on this machine reaches it too.
/// threads: any thread may call any method.
class AccessRules {
 public:
  AccessRules(bool asks_for_certificates, std::optional<Tokens> tokens)
      : asks_for_certificates_(asks_for_certificates), tokens_(std::move(tokens)) {}

  /// errors: permission_denied (says what is needed).
  Status admit(Right right, const Shown& shown) const;
  /// Who has shown this, for a log: the URI of the certificate, "user token", "admin token"; "": nothing that is known.
  std::string who(const Shown& shown) const;
  bool asks() const { return asks_for_certificates_ || tokens_.has_value(); }

 private:
  Status admit_token(Right right, std::string_view authorization) const;

  const bool asks_for_certificates_;
  const std::optional<Tokens> tokens_;
};

}  // namespace mangrove::serve
