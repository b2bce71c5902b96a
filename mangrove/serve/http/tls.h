#pragma once

#include <memory>
#include <optional>

#include "mangrove/base/clock.h"
#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/subject.h"
#include "mangrove/net/credentials.h"

struct ssl_ctx_st;
struct ssl_st;

namespace mangrove::serve {

struct FreeTls {
  void operator()(ssl_st* session) const;
};
using TlsSession = std::unique_ptr<ssl_st, FreeTls>;

/// TLS 1.3 for a server of HTTPS, with the certificate of a member of the cluster. A client may show a certificate,
/// which must then be one of the cluster, or none: then its calls need a token.
/// threads: any thread may call any method.
class TlsServer {
 public:
  /// errors: invalid_argument (OpenSSL does not take the identity).
  static Result<std::unique_ptr<TlsServer>> create(std::shared_ptr<const net::Credentials> credentials);

  /// A session for one connection, with the certificate that is used now: it may have been renewed.
  /// errors: resource_exhausted.
  Result<TlsSession> new_session();

 private:
  explicit TlsServer(std::shared_ptr<const net::Credentials> credentials) : credentials_(std::move(credentials)) {}
  Status use_current() MG_REQUIRES(mutex_);

  const std::shared_ptr<const net::Credentials> credentials_;
  const SteadyClock clock_;
  Mutex mutex_;
  std::shared_ptr<ssl_ctx_st> context_ MG_GUARDED_BY(mutex_);
  std::string used_ MG_GUARDED_BY(mutex_);  // hash of its certificate
  Instant look_again_ MG_GUARDED_BY(mutex_);
};

/// Whose certificate the client has proven. Nothing: it has shown none, or one of nobody in a cluster.
std::optional<identity::Subject> proven_member(const ssl_st& session);

}  // namespace mangrove::serve
