#include "mangrove/serve/http/http_server.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "mangrove/base/log.h"
#include "mangrove/serve/http/session.h"

namespace mangrove::serve {
namespace {

constexpr int kBacklog = 1024;          // connections that the system keeps until they are accepted
constexpr int kPauseMilliseconds = 50;  // before the next try, where the system has no descriptors left
constexpr Seconds kFinishWithin = 1;    // a client takes note of the end
constexpr const char* kTooManyConnections =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: application/json\r\n"
    "Content-Length: 49\r\n\r\n{\"error\":\"this server has too many connections\"}\n";

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

std::string reason_of(int number) {
  return std::generic_category().message(number);
}

Error cannot_listen(const cluster::HostPort& address, const std::string& why) {
  return make_error(Code::unavailable, "cannot listen on " + address.to_string() + ": " + why);
}

int port_number(int descriptor) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) != 0) return 0;
  return own.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6&>(own).sin6_port)
                                   : ntohs(reinterpret_cast<sockaddr_in&>(own).sin_port);
}

/// A socket that listens on one of the addresses; below 0: errno says why not.
Descriptor open_listening(const addrinfo* list) {
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    Descriptor made(::socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (made.number() < 0) continue;
    const int yes = 1;  // connections of an earlier server may linger
    ::setsockopt(made.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(made.number(), at->ai_addr, at->ai_addrlen) == 0 && ::listen(made.number(), kBacklog) == 0) return made;
  }
  return Descriptor();
}

}  // namespace

HttpServer::HttpServer(HttpHandler& handler, const HttpLimits& limits, std::unique_ptr<TlsServer> tls)
    : handler_(handler), limits_(limits), tls_(std::move(tls)), room_(limits.room) {}

HttpServer::~HttpServer() {
  stop(0);
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const cluster::HostPort& listen, HttpHandler& handler,
                                                      std::shared_ptr<const net::Credentials> credentials,
                                                      bool insecure, const HttpLimits& limits) {
  if (credentials == nullptr && !insecure && !listen.is_loopback())
    return make_error(Code::failed_precondition,
                      "cannot listen on " + listen.to_string() +
                          " without certificates: whoever reaches this address could read what is sent, and use the "
                          "models; give --identity (docs/security.md), listen on 127.0.0.1, or take --insecure");
  std::unique_ptr<TlsServer> tls;
  if (credentials != nullptr) {
    MG_TRY(tls, TlsServer::create(std::move(credentials)));
  }
  std::unique_ptr<HttpServer> server(new HttpServer(handler, limits, std::move(tls)));
  MG_RETURN_IF_ERROR(server->listen_on(listen));
  server->acceptor_ = std::jthread([raw = server.get()] { raw->accept_clients(); });
  return server;
}

Status HttpServer::listen_on(const cluster::HostPort& address) {
  MG_RETURN_IF_ERROR(cluster::check_can_listen(address));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (failed != 0) return cannot_listen(address, ::gai_strerror(failed));
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  listening_ = open_listening(list.get());
  if (listening_.number() < 0) return cannot_listen(address, reason_of(errno));
  wake_ = Descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (wake_.number() < 0) return cannot_listen(address, reason_of(errno));
  port_ = port_number(listening_.number());
  return {};
}

void HttpServer::accept_clients() {
  while (!is_closing_) {
    std::array<pollfd, 2> waiting{pollfd{listening_.number(), POLLIN, 0}, pollfd{wake_.number(), POLLIN, 0}};
    ::poll(waiting.data(), waiting.size(), -1);
    if (!is_closing_ && (waiting[0].revents & POLLIN) != 0) accept_one();
    join_gone();
  }
}

void HttpServer::accept_one() {
  Descriptor socket(::accept4(listening_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.number() >= 0) return take(std::move(socket));
  if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;  // that client is gone
  log_warn("no connection accepted", {{"why", reason_of(errno)}});
  pollfd stopped{wake_.number(), POLLIN, 0};
  ::poll(&stopped, 1, kPauseMilliseconds);
}

void HttpServer::take(Descriptor socket) {
  const int yes = 1;
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const MutexLock lock(mutex_);
  if (!make_place()) {
    if (tls_ == nullptr)
      (void)::send(socket.number(), kTooManyConnections, std::strlen(kTooManyConnections), MSG_NOSIGNAL);
    return;
  }
  const ClientId id = next_++;
  Client& client = clients_[id];
  client.descriptor = socket.number();
  client.is_idle = false;
  try {
    // it waits for the lock, so that it finds its client
    client.thread = std::jthread([this, id, socket = std::move(socket)]() mutable { serve(id, std::move(socket)); });
  } catch (const std::system_error& error) {
    log_warn("no thread for a connection", {{"why", error.what()}});
    clients_.erase(id);
  }
}

/// Whether there may be one more client. If not, and one is idle, the one that has been for longest is closed.
bool HttpServer::make_place() {
  if (std::ssize(clients_) < limits_.max_connections) return true;
  const auto longer = [](const auto& a, const auto& b) {
    return std::pair(!a.second.is_idle, a.second.idle_since) < std::pair(!b.second.is_idle, b.second.idle_since);
  };
  const auto idlest = std::ranges::min_element(clients_, longer);
  // twice as many for a moment: those that are closed take a while to leave
  if (!idlest->second.is_idle || std::ssize(clients_) / 2 >= limits_.max_connections) return false;
  ::shutdown(idlest->second.descriptor, SHUT_RD);
  idlest->second.is_idle = false;
  return true;
}

void HttpServer::serve(ClientId id, Descriptor socket) {
  {
    TlsSession session;
    if (tls_ != nullptr) {
      Result<TlsSession> made = tls_->new_session();
      if (made.ok()) session = std::move(*made);
    }
    const bool is_usable = tls_ == nullptr || session != nullptr;
    Connection connection(std::move(socket), std::move(session));
    if (is_usable && connection.shake_hands(clock_.after(limits_.handshake_within)).ok()) {
      serve_requests(connection, {.handler = handler_,
                                  .limits = limits_,
                                  .room = room_,
                                  .on_idle = [this, id](bool is_idle) { set_idle(id, is_idle); },
                                  .is_closing = [this] { return is_closing_.load(); },
                                  .stop = cut_.get_token()});
      connection.finish(clock_.after(kFinishWithin));
    }
    leave(id);  // before its descriptor is closed, and becomes that of another
  }
  const std::uint64_t one = 1;
  (void)!::write(wake_.number(), &one, sizeof one);
}

void HttpServer::set_idle(ClientId id, bool is_idle) {
  const MutexLock lock(mutex_);
  Client& client = clients_.at(id);
  client.is_idle = is_idle;
  client.idle_since = clock_.now();
}

void HttpServer::leave(ClientId id) {
  const MutexLock lock(mutex_);
  const auto client = clients_.find(id);
  gone_.push_back(std::move(client->second.thread));
  clients_.erase(client);
  changed_.notify_all();
}

/// Ends the threads of clients that have left: they have nothing to do any more.
void HttpServer::join_gone() {
  std::uint64_t ignored = 0;
  (void)!::read(wake_.number(), &ignored, sizeof ignored);
  std::vector<std::jthread> ended;
  const MutexLock lock(mutex_);
  ended.swap(gone_);
}

bool HttpServer::wait_until_empty(Seconds at_most) {
  const Deadline deadline = clock_.after(at_most);
  const MutexLock lock(mutex_);
  while (!clients_.empty() && clock_.now() < deadline) changed_.wait_for(mutex_, deadline - clock_.now());
  return clients_.empty();
}

void HttpServer::stop(Seconds grace) {
  if (!acceptor_.joinable()) return;  // it never started, or was stopped
  is_closing_ = true;
  const std::uint64_t one = 1;
  (void)!::write(wake_.number(), &one, sizeof one);
  acceptor_.join();
  listening_ = Descriptor();
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, client] : clients_)
      if (client.is_idle) ::shutdown(client.descriptor, SHUT_RD);
  }
  if (!wait_until_empty(grace)) {
    cut_.request_stop();
    const MutexLock lock(mutex_);
    for (const auto& [id, client] : clients_) ::shutdown(client.descriptor, SHUT_RDWR);
  }
  while (!wait_until_empty(kFinishWithin)) log_warn("connections do not end", {});
  join_gone();
}

}  // namespace mangrove::serve
