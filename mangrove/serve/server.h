#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/data/data_folder.h"
#include "mangrove/net/credentials.h"
#include "mangrove/serve/http/limits.h"
#include "mangrove/serve/protocol/access.h"
#include "mangrove/serve/protocol/models.h"
#include "mangrove/serve/protocol/traffic.h"

namespace mangrove::serve {

/// Where and for whom a server answers.
struct ServerOptions {
  std::string http = "127.0.0.1:8000";                       // HOST:PORT; port 0: a free one; "": no REST
  std::string grpc = "127.0.0.1:8001";                       // the same of gRPC
  std::shared_ptr<const net::Credentials> credentials = {};  // null: plain text
  std::optional<Tokens> tokens = {};  // of clients that have no certificate; nothing: they need none, or a certificate
  bool insecure = false;              // plain text is allowed on any address
  HttpLimits limits = {};             // of REST; max_request and room also of gRPC
  std::string version = "";           // of the program
  data::DataFolder data_folder = {};  // see ImageClassifier
  fs::path access_log = "";           // file of an AccessLog; "": none
  std::function<std::string()> more_metrics = {};  // of what else the process does, for GET /metrics; empty: none
};

/// Answers the Open Inference Protocol v2 over REST and gRPC.
/// threads: any thread may call any method.
class Server {
 public:
  /// models: must outlive it. errors: invalid_argument (no address, or a wrong one), those of
  /// AccessLog::open(), HttpServer::start() and cluster::RpcServer::start().
  static Result<std::unique_ptr<Server>> start(Models& models, ServerOptions options);
  /// Stops at once.
  ~Server();

  /// Where it listens: "127.0.0.1:8000"; "": not at all.
  const std::string& http_address() const;
  const std::string& grpc_address() const;
  TrafficCounts traffic() const;
  /// Takes no more requests, and lets those that have come go on for `grace`. Returns when they have been answered or
  /// cut.
  void stop(Seconds grace);

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace mangrove::serve
