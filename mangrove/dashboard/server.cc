#include "mangrove/dashboard/server.h"

#include <utility>

#include "mangrove/cluster/address.h"

namespace mangrove::dashboard {
namespace {

// Each page has two streams, and a thread for each.
constexpr serve::HttpLimits kLimits{.max_request = 1'000'000, .room = 20'000'000, .max_connections = 128};

}  // namespace

Server::Server(std::unique_ptr<cluster::Client> client, Connect connect, serve::Tokens tokens, JobForms forms,
               const ServerOptions& options)
    : client_(std::move(client)),
      access_(options.own, std::move(tokens)),
      api_(*client_, std::move(connect), access_, std::move(forms), options.version) {}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(Connect connect, serve::Tokens tokens, JobForms forms,
                                              const ServerOptions& options, const std::stop_token& stop) {
  MG_TRY(cluster::HostPort where, cluster::parse_host_port(options.listen));
  MG_TRY(auto client, connect(stop));
  std::unique_ptr<Server> server(
      new Server(std::move(client), std::move(connect), std::move(tokens), std::move(forms), options));
  MG_TRY(server->http_, serve::HttpServer::start(where, server->api_, options.credentials, false, kLimits));
  where.port = server->http_->port();
  server->address_ = where.to_string();
  return server;
}

}  // namespace mangrove::dashboard
