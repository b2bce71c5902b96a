#pragma once

#include <grpc/support/time.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/net/world.h"

#include "mangrove/net/grpc_transport.h"

namespace grpc {
class ChannelCredentials;
class Server;
class Status;
}  // namespace grpc

namespace mangrove::net {

class Envelope;

/// What one process has of net: a transport and a gRPC server on a port of 127.0.0.1 that the system chose.
class GrpcProcess {
 public:
  /// credentials: null for plain text.
  explicit GrpcProcess(std::shared_ptr<const Credentials> credentials = nullptr);
  ~GrpcProcess();

  GrpcTransport& transport() { return transport_; }
  int port() const { return port_; }
  std::string address() const { return local_address(port_); }
  /// Breaks all connections; the port answers no more.
  void stop_server();
  /// The same port answers again, with the same state behind it.
  void start_server();

  static std::string local_address(int port) { return "127.0.0.1:" + std::to_string(port); }

 private:
  const std::shared_ptr<const Credentials> credentials_;
  GrpcTransport transport_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

/// Of an authority that all processes of this test program believe.
std::shared_ptr<const Credentials> test_credentials(identity::Role role, const std::string& name = "test");

/// Each member has the certificate of a node with its name.
Subjects subjects_of(const Members& members);

/// Joins a job of P ranks that are all alive; addresses[r] leads to rank r.
std::unique_ptr<Endpoint> join(GrpcProcess& process, const std::string& job, Rank rank,
                               const std::map<Rank, std::string>& addresses, const Subjects& subjects = {});

/// soon() as gRPC wants a deadline; no clock of the calendar has a part in it.
gpr_timespec soon_for_grpc();

/// A stream of a peer that keeps to no rule: sends these envelopes, reads what comes and closes the stream again.
/// link: null for a stream that names none. Returns how the process took it.
grpc::Status exchange(const GrpcProcess& process, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                      const char* link, const std::vector<Envelope>& envelopes);

}  // namespace mangrove::net
