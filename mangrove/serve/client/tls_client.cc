#include "mangrove/serve/client/tls_client.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>

#include <array>
#include <utility>
#include <vector>

#include "mangrove/identity/openssl.h"

namespace mangrove::serve {
namespace {

bool trust(SSL_CTX* context, const std::vector<identity::Certificate>& authorities) {
  bool ok = true;
  for (const identity::Certificate& authority : authorities)
    ok = ok && X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.handle()) == 1;
  return ok;
}

bool show(SSL_CTX* context, const identity::Identity& own) {
  bool ok = SSL_CTX_use_certificate(context, own.certificate().handle()) == 1 &&
            SSL_CTX_use_PrivateKey(context, own.key().handle()) == 1;
  for (std::size_t i = 1; i < own.chain().size(); ++i)
    ok = ok && SSL_CTX_add1_chain_cert(context, own.chain()[i].handle()) == 1;
  return ok;
}

bool is_numeric(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address;
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

/// What the certificate must be of: a name, which the client also asks for, or an address.
bool expect_server(SSL* session, const std::string& name) {
  if (is_numeric(name)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name.c_str()) == 1;
  return SSL_set1_host(session, name.c_str()) == 1 && SSL_set_tlsext_host_name(session, name.c_str()) == 1;
}

}  // namespace

Result<std::unique_ptr<TlsClient>> TlsClient::create(const TlsClientOptions& options) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  if (context == nullptr) return identity::openssl_error(Code::resource_exhausted, "no TLS");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  bool ok = options.own == nullptr || show(context.get(), *options.own);
  if (!options.authorities.empty()) {
    MG_TRY(const std::vector<identity::Certificate> given, identity::parse_certificates(options.authorities));
    ok = ok && trust(context.get(), given);
  } else if (options.own != nullptr) {
    ok = ok && trust(context.get(), options.own->authorities());
  } else {
    ok = ok && SSL_CTX_set_default_verify_paths(context.get()) == 1;
  }
  if (!ok) return identity::openssl_error(Code::invalid_argument, "this identity is not one for a client");
  return std::unique_ptr<TlsClient>(new TlsClient(std::move(context), options.server_name));
}

Result<TlsSession> TlsClient::new_session() const {
  TlsSession session(SSL_new(context_.get()));
  if (session == nullptr) return identity::openssl_error(Code::resource_exhausted, "no TLS session");
  if (!expect_server(session.get(), server_name_))
    return identity::openssl_error(Code::invalid_argument, "'" + server_name_ + "' is no name of a server");
  return session;
}

}  // namespace mangrove::serve
