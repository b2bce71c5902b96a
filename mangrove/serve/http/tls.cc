#include "mangrove/serve/http/tls.h"

#include <openssl/ssl.h>

#include <string>

#include "mangrove/identity/identity.h"
#include "mangrove/identity/openssl.h"

namespace mangrove::serve {
namespace {

constexpr Seconds kLookForRenewalEvery = 10;

bool use_identity(SSL_CTX* context, const identity::Identity& own) {
  bool ok = SSL_CTX_use_certificate(context, own.certificate().handle()) == 1 &&
            SSL_CTX_use_PrivateKey(context, own.key().handle()) == 1;
  for (std::size_t i = 1; i < own.chain().size(); ++i)
    ok = ok && SSL_CTX_add1_chain_cert(context, own.chain()[i].handle()) == 1;
  for (const identity::Certificate& authority : own.authorities())
    ok = ok && X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.handle()) == 1 &&
         SSL_CTX_add_client_CA(context, authority.handle()) == 1;
  return ok;
}

Result<std::shared_ptr<SSL_CTX>> make_tls_context(const identity::Identity& own) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (context == nullptr) return identity::openssl_error(Code::resource_exhausted, "no TLS");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  // a session that is taken up again would not show its certificate again
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (!use_identity(context.get(), own))
    return identity::openssl_error(Code::invalid_argument, "this identity is not one for a server");
  return context;
}

}  // namespace

void FreeTls::operator()(ssl_st* session) const {
  SSL_free(session);
}

Result<std::unique_ptr<TlsServer>> TlsServer::create(std::shared_ptr<const net::Credentials> credentials) {
  std::unique_ptr<TlsServer> server(new TlsServer(std::move(credentials)));
  const MutexLock lock(server->mutex_);
  MG_RETURN_IF_ERROR(server->use_current());
  return server;
}

Status TlsServer::use_current() {
  look_again_ = clock_.after(kLookForRenewalEvery);
  const identity::Identity own = credentials_->current();
  if (own.certificate().hash() == used_) return {};
  MG_TRY(context_, make_tls_context(own));
  used_ = own.certificate().hash();
  return {};
}

Result<TlsSession> TlsServer::new_session() {
  const MutexLock lock(mutex_);
  // where the new identity is of no use, the old one is shown until it expires
  if (clock_.now() >= look_again_) (void)use_current();
  TlsSession session(SSL_new(context_.get()));
  if (session == nullptr) return identity::openssl_error(Code::resource_exhausted, "no TLS session");
  return session;
}

std::optional<identity::Subject> proven_member(const ssl_st& session) {
  X509* const shown = SSL_get1_peer_certificate(&session);
  if (shown == nullptr) return std::nullopt;
  Result<identity::Subject> subject = identity::Certificate(shown).subject();
  if (!subject.ok()) return std::nullopt;
  return std::move(*subject);
}

}  // namespace mangrove::serve
