#include "mangrove/identity/peek.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include "mangrove/identity/openssl.h"

namespace mangrove::identity {
namespace {

constexpr Seconds kLookEvery = 0.1;  // between looks whether a stop is requested
constexpr Seconds kRetryAfter = 0.2;

/// Waits for the socket. errors: those of peek_certificates().
Status wait_for(BIO* bio, Deadline deadline, const std::stop_token& stop) {
  const SteadyClock clock;
  const Seconds left = deadline - clock.now();
  if (stop.stop_requested()) return make_error(Code::cancelled, "stopped while connecting");
  if (left <= 0) return make_error(Code::unavailable, "no answer");
  pollfd waiting{static_cast<int>(BIO_get_fd(bio, nullptr)), POLLIN, 0};
  if (BIO_should_write(bio) != 0 || BIO_should_io_special(bio) != 0) waiting.events = POLLOUT;
  if (waiting.fd < 0) return make_error(Code::unavailable, "no connection");
  ::poll(&waiting, 1, static_cast<int>(std::ceil(std::clamp(left, 0.0, kLookEvery) * 1000)));
  return {};
}

Status connect(BIO* bio, Deadline deadline, const std::stop_token& stop) {
  while (BIO_do_connect(bio) <= 0) {
    if (BIO_should_retry(bio) == 0) return openssl_error(Code::unavailable, "no connection");
    MG_RETURN_IF_ERROR(wait_for(bio, deadline, stop));
  }
  return {};
}

/// False: the server does not speak TLS 1.3.
Result<bool> shake_hands(SSL* ssl, BIO* bio, Deadline deadline, const std::stop_token& stop) {
  for (;;) {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl);
    if (done == 1) return true;
    const int reason = SSL_get_error(ssl, done);
    const bool broke =
        reason == SSL_ERROR_SYSCALL || ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
    if (broke) return make_error(Code::unavailable, "the connection broke");
    if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE) return false;
    MG_RETURN_IF_ERROR(wait_for(bio, deadline, stop));
  }
}

std::vector<Certificate> shown_by(const SSL* ssl) {
  std::vector<Certificate> certificates;
  STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl);
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    X509* one = sk_X509_value(chain, i);
    X509_up_ref(one);
    certificates.emplace_back(one);
  }
  return certificates;
}

using Shown = std::optional<std::vector<Certificate>>;

}  // namespace

Result<Shown> peek_once(const std::string& address, Deadline deadline, const std::stop_token& stop) {
  constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};  // a gRPC server answers only who speaks HTTP/2
  Owned<BIO> bio(BIO_new_connect(address.c_str()));
  const Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  if (!bio || !context) return openssl_error(Code::unavailable, address);
  BIO_set_nbio(bio.get(), 1);
  MG_RETURN_IF_ERROR(connect(bio.get(), deadline, stop));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  const Owned<SSL> ssl(SSL_new(context.get()));
  MG_CHECK_MSG(ssl && SSL_set_alpn_protos(ssl.get(), kHttp2.data(), kHttp2.size()) == 0, "OpenSSL begins no TLS");
  BIO* line = bio.release();
  SSL_set_bio(ssl.get(), line, line);  // takes it over
  SSL_set_connect_state(ssl.get());
  MG_TRY(const bool is_tls, shake_hands(ssl.get(), line, deadline, stop));
  ERR_clear_error();
  if (!is_tls) return Shown();
  return Shown(shown_by(ssl.get()));
}

Result<std::optional<std::vector<Certificate>>> peek_certificates(const std::string& address, Deadline deadline,
                                                                  const std::stop_token& stop) {
  SteadyClock clock;
  for (;;) {
    Result<Shown> shown = peek_once(address, deadline, stop);
    if (shown.ok() || shown.code() != Code::unavailable || clock.now() + kRetryAfter >= deadline) return shown;
    clock.sleep_until(clock.after(kRetryAfter));
  }
}

}  // namespace mangrove::identity
