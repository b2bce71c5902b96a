#pragma once

#include <memory>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/dashboard/api.h"
#include "mangrove/net/credentials.h"
#include "mangrove/serve/http/http_server.h"
#include "mangrove/serve/http/tokens.h"

namespace mangrove::dashboard {

/// Where and for whom a dashboard answers.
struct ServerOptions {
  std::string listen = "127.0.0.1:7080";                     // HOST:PORT; port 0: a free one
  std::shared_ptr<const net::Credentials> credentials = {};  // HTTPS with this identity; null: HTTP, on loopback only
  identity::Role own = identity::Role::admin;                // what `connect` gives the right to do
  std::string version = {};                                  // of the program
};

/// A dashboard that answers. threads: any thread may call any method.
class Server {
 public:
  /// errors: those of `connect` and of HttpServer::start().
  static Result<std::unique_ptr<Server>> start(Connect connect, serve::Tokens tokens, JobForms forms,
                                               const ServerOptions& options, const std::stop_token& stop);
  ~Server();

  /// Where it listens: "127.0.0.1:7080".
  const std::string& address() const { return address_; }
  /// Takes no more requests, ends the streams, and lets what has come go on for `grace`.
  void stop(Seconds grace) { http_->stop(grace); }

 private:
  Server(std::unique_ptr<cluster::Client> client, Connect connect, serve::Tokens tokens, JobForms forms,
         const ServerOptions& options);

  const std::unique_ptr<cluster::Client> client_;
  const Access access_;
  Api api_;
  std::string address_;
  std::unique_ptr<serve::HttpServer> http_;  // ends before what it answers with
};

}  // namespace mangrove::dashboard
