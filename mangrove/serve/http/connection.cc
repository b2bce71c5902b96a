#include "mangrove/serve/http/connection.h"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cmath>
#include <string>

namespace mangrove::serve {
namespace {

constexpr Bytes kMostDrained = MiB(1);  // that a client may still send while the connection is closed

const char* name_of(Peer peer) {
  return peer == Peer::client ? "the client" : "the server";
}

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

int at_most_int(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Connection::Connection(Descriptor socket, TlsSession tls, Peer peer)
    : socket_(std::move(socket)), tls_(std::move(tls)), peer_(peer) {
  if (tls_ == nullptr) return;
  SSL_set_fd(tls_.get(), socket_.number());
  if (peer_ == Peer::client)
    SSL_set_accept_state(tls_.get());
  else
    SSL_set_connect_state(tls_.get());
}

Error Connection::gone() const {
  return make_error(Code::unavailable, std::string(name_of(peer_)) + " has hung up");
}

Error Connection::too_slow() const {
  return make_error(Code::deadline_exceeded, std::string(name_of(peer_)) + " was too slow");
}

std::string Connection::other_end() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getpeername(socket_.number(), generic, &size) != 0 ||
      ::getnameinfo(generic, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  const bool is_v6 = address.ss_family == AF_INET6;
  return (is_v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + port;
}

bool Connection::has_ended() const {
  pollfd waiting{socket_.number(), POLLIN, 0};
  return ::poll(&waiting, 1, 0) != 0;
}

Status Connection::wait_for(short events, Deadline deadline) const {
  for (;;) {
    const Seconds left = deadline - SteadyClock().now();
    if (left <= 0) return too_slow();
    pollfd waiting{socket_.number(), events, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::ceil(std::min(left, 3600.0) * 1000)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return gone();
  }
}

Status Connection::wait_for_tls(int result, Deadline deadline) const {
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return wait_for(POLLIN, deadline);
    case SSL_ERROR_WANT_WRITE:
      return wait_for(POLLOUT, deadline);
    default:
      ERR_clear_error();
      return gone();
  }
}

Status Connection::shake_hands(Deadline deadline) {
  if (tls_ == nullptr) return {};
  for (;;) {
    ERR_clear_error();
    const int done = SSL_do_handshake(tls_.get());
    if (done == 1) break;
    if (const long problem = SSL_get_verify_result(tls_.get()); peer_ == Peer::server && problem != X509_V_OK)
      return make_error(Code::permission_denied, std::string("the certificate of the server is not trusted: ") +
                                                     X509_verify_cert_error_string(problem));
    MG_RETURN_IF_ERROR(wait_for_tls(done, deadline));
  }
  member_ = proven_member(*tls_);
  return {};
}

Result<std::size_t> Connection::read_plain(std::span<char> into, Deadline deadline) const {
  for (;;) {
    const ssize_t got = ::recv(socket_.number(), into.data(), into.size(), 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    if (!would_block(errno)) return gone();
    MG_RETURN_IF_ERROR(wait_for(POLLIN, deadline));
  }
}

Result<std::size_t> Connection::read_tls(std::span<char> into, Deadline deadline) const {
  for (;;) {
    ERR_clear_error();
    const int got = SSL_read(tls_.get(), into.data(), at_most_int(into.size()));
    if (got > 0) return static_cast<std::size_t>(got);
    if (SSL_get_error(tls_.get(), got) == SSL_ERROR_ZERO_RETURN) return std::size_t{0};
    MG_RETURN_IF_ERROR(wait_for_tls(got, deadline));
  }
}

Result<std::size_t> Connection::read(std::span<char> into, Deadline deadline) {
  // a client that sends a byte now and then never lets a read wait: the deadline counts all the same
  if (SteadyClock().now() >= deadline) return too_slow();
  return tls_ == nullptr ? read_plain(into, deadline) : read_tls(into, deadline);
}

Result<std::size_t> Connection::write_some(std::string_view bytes, Deadline deadline) const {
  for (;;) {
    if (SteadyClock().now() >= deadline) return too_slow();
    if (tls_ != nullptr) {
      ERR_clear_error();
      const int done = SSL_write(tls_.get(), bytes.data(), at_most_int(bytes.size()));
      if (done > 0) return static_cast<std::size_t>(done);
      MG_RETURN_IF_ERROR(wait_for_tls(done, deadline));
      continue;
    }
    const ssize_t done = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (done >= 0) return static_cast<std::size_t>(done);
    if (errno == EINTR) continue;
    if (!would_block(errno)) return gone();
    MG_RETURN_IF_ERROR(wait_for(POLLOUT, deadline));
  }
}

Status Connection::write(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    MG_TRY(const std::size_t done, write_some(bytes, deadline));
    bytes.remove_prefix(done);
  }
  return {};
}

void Connection::finish(Deadline deadline) {
  if (tls_ != nullptr) SSL_shutdown(tls_.get());
  ERR_clear_error();
  ::shutdown(socket_.number(), SHUT_WR);
  std::array<char, 16384> rest;
  Bytes drained = 0;
  while (drained < kMostDrained) {
    const Result<std::size_t> got = read_plain(rest, deadline);  // also of TLS: nobody needs it any more
    if (!got.ok() || *got == 0 || SteadyClock().now() >= deadline) return;
    drained += static_cast<Bytes>(*got);
  }
}

}  // namespace mangrove::serve
