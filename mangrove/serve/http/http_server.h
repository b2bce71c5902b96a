#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "mangrove/base/mutex.h"
#include "mangrove/base/result.h"
#include "mangrove/cluster/address.h"
#include "mangrove/net/credentials.h"
#include "mangrove/serve/http/connection.h"
#include "mangrove/serve/http/limits.h"
#include "mangrove/serve/http/message.h"
#include "mangrove/serve/http/tls.h"

namespace mangrove::serve {

/// A server of HTTP/1.1, or of HTTPS. Each connection has a thread; how many there are, how long a request may take to
/// come and how much memory bodies take have bounds.
/// threads: any thread may call any method.
class HttpServer {
 public:
  /// handler: must outlive it. credentials: null for plain text, which is allowed only on loopback addresses unless
  /// `insecure`.
  /// errors: failed_precondition (plain text on another address), those of cluster::check_can_listen(),
  /// invalid_argument (an identity that is not one for a server).
  static Result<std::unique_ptr<HttpServer>> start(const cluster::HostPort& listen, HttpHandler& handler,
                                                   std::shared_ptr<const net::Credentials> credentials, bool insecure,
                                                   const HttpLimits& limits);
  /// Stops at once.
  ~HttpServer();

  int port() const { return port_; }
  /// Takes no more requests, lets those that have come go on for `grace`, and cuts the rest. Returns when all of its
  /// threads have ended.
  void stop(Seconds grace);

 private:
  struct Client {
    int descriptor;
    bool is_idle = true;
    Instant idle_since;
    std::jthread thread;
  };
  using ClientId = std::uint64_t;

  HttpServer(HttpHandler& handler, const HttpLimits& limits, std::unique_ptr<TlsServer> tls);
  Status listen_on(const cluster::HostPort& address);
  void accept_clients();
  void accept_one();
  void take(Descriptor socket);
  void serve(ClientId id, Descriptor socket);
  void set_idle(ClientId id, bool is_idle);
  void leave(ClientId id);
  void join_gone();
  bool make_place() MG_REQUIRES(mutex_);
  bool wait_until_empty(Seconds at_most);

  HttpHandler& handler_;
  const HttpLimits limits_;
  const std::unique_ptr<TlsServer> tls_;  // null: plain text
  const SteadyClock clock_;
  BodyRoom room_;
  Descriptor listening_, wake_;
  int port_ = 0;
  std::atomic<bool> is_closing_ = false;
  std::stop_source cut_;

  Mutex mutex_;
  Condition changed_;
  std::map<ClientId, Client> clients_ MG_GUARDED_BY(mutex_);
  std::vector<std::jthread> gone_ MG_GUARDED_BY(mutex_);  // of clients that have left
  ClientId next_ MG_GUARDED_BY(mutex_) = 0;
  std::jthread acceptor_;
};

}  // namespace mangrove::serve
