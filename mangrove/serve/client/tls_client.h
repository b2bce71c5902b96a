#pragma once

#include <memory>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/identity/identity.h"
#include "mangrove/serve/http/tls.h"

namespace mangrove::serve {

/// What a client of HTTPS trusts and shows.
struct TlsClientOptions {
  std::string authorities = {};  // PEM of those that it trusts; "": those of the system, or of `own`
  std::shared_ptr<const identity::Identity> own = {};  // that it shows; null: none
  std::string server_name;                             // that the server's certificate must have
};

/// TLS, 1.2 or later, for a client of HTTPS. The server's certificate must be signed by an authority that the client
/// trusts, and have the name that it expects.
/// threads: any thread may call any method.
class TlsClient {
 public:
  /// errors: invalid_argument (no authority in the PEM text; OpenSSL does not take the identity).
  static Result<std::unique_ptr<TlsClient>> create(const TlsClientOptions& options);
  /// A session for one connection. errors: resource_exhausted; invalid_argument (the name is none).
  Result<TlsSession> new_session() const;

 private:
  TlsClient(std::shared_ptr<ssl_ctx_st> context, std::string server_name)
      : context_(std::move(context)), server_name_(std::move(server_name)) {}

  const std::shared_ptr<ssl_ctx_st> context_;
  const std::string server_name_;
};

}  // namespace mangrove::serve
