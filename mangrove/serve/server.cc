#include "mangrove/serve/server.h"

#include <thread>
#include <utility>

#include "mangrove/base/stop.h"
#include "mangrove/cluster/address.h"
#include "mangrove/cluster/rpc.h"
#include "mangrove/net/every_call.h"
#include "mangrove/serve/http/http_server.h"
#include "mangrove/serve/protocol/access_log.h"
#include "mangrove/serve/protocol/grpc_service.h"
#include "mangrove/serve/protocol/rest_api.h"

namespace mangrove::serve {

struct Server::Parts {
  Parts(Models& models, ServerOptions given, std::unique_ptr<AccessLog> log)
      : options(std::move(given)),
        access_log(std::move(log)),
        rules(options.credentials != nullptr, options.tokens),
        classifier(options.data_folder),
        rest(models, rules, classifier, traffic,
             {.version = options.version, .more_metrics = options.more_metrics, .access_log = access_log.get()}),
        service(models, rules, traffic, options.version, access_log.get()) {}

  const ServerOptions options;
  const std::unique_ptr<AccessLog> access_log;  // null: none
  const AccessRules rules;
  const std::shared_ptr<Traffic> traffic = std::make_shared<Traffic>();
  ImageClassifier classifier;
  RestApi rest;
  GrpcService service;
  std::string http_address, grpc_address;
  std::unique_ptr<HttpServer> http;         // null: no REST
  std::unique_ptr<cluster::RpcServer> rpc;  // null: no gRPC
};

namespace {

/// errors: those of HttpServer::start().
Result<std::unique_ptr<HttpServer>> start_http(const ServerOptions& options, HttpHandler& handler,
                                               std::string& address) {
  MG_TRY(cluster::HostPort where, cluster::parse_host_port(options.http));
  MG_TRY(auto server, HttpServer::start(where, handler, options.credentials, options.insecure, options.limits));
  where.port = server->port();
  address = where.to_string();
  return server;
}

/// errors: those of RpcServer::start().
Result<std::unique_ptr<cluster::RpcServer>> start_rpc(const ServerOptions& options, grpc::Service& service,
                                                      std::string& address) {
  MG_TRY(cluster::HostPort where, cluster::parse_host_port(options.grpc));
  const cluster::RpcSecurity security{.credentials = options.credentials.get(),
                                      .strangers_call = options.tokens ? net::kEveryCall : "",
                                      .insecure = options.insecure,
                                      .longest_message = options.limits.max_request,
                                      .room = options.limits.room,
                                      .handshake_within = options.limits.handshake_within,
                                      .call_within = options.limits.idle_for};
  MG_TRY(auto server, cluster::RpcServer::start(where, {&service}, security));
  where.port = server->port();
  address = where.to_string();
  return server;
}

}  // namespace

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() {
  stop(0);
}

Result<std::unique_ptr<Server>> Server::start(Models& models, ServerOptions options) {
  if (options.http.empty() && options.grpc.empty())
    return make_error(Code::invalid_argument, "a server needs an address for REST or for gRPC");
  std::unique_ptr<AccessLog> access_log;
  if (!options.access_log.empty()) {
    MG_TRY(access_log, AccessLog::open(options.access_log));
  }
  auto parts = std::make_unique<Parts>(models, std::move(options), std::move(access_log));
  if (!parts->options.http.empty()) {
    MG_TRY(parts->http, start_http(parts->options, parts->rest, parts->http_address));
  }
  if (!parts->options.grpc.empty()) {
    MG_TRY(parts->rpc, start_rpc(parts->options, parts->service, parts->grpc_address));
  }
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

const std::string& Server::http_address() const {
  return parts_->http_address;
}

const std::string& Server::grpc_address() const {
  return parts_->grpc_address;
}

TrafficCounts Server::traffic() const {
  return parts_->traffic->counts();
}

void Server::stop(Seconds grace) {
  std::jthread rest;
  if (parts_->http != nullptr) rest = std::jthread([this, grace] { parts_->http->stop(grace); });
  if (parts_->rpc == nullptr) return;
  // gRPC waits for the handlers of calls that it has cancelled
  const std::jthread cut([this, grace](const std::stop_token& stop) {
    if (!wait_for_stop(stop, grace)) parts_->service.cut();
  });
  parts_->rpc->shutdown(grace);
}

}  // namespace mangrove::serve
