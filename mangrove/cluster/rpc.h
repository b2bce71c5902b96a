#pragma once

#include <grpc/support/time.h>

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/cluster/address.h"
#include "mangrove/cluster/message_limits.h"
#include "mangrove/net/credentials.h"

namespace grpc {
class Channel;
class Server;
class Service;
}  // namespace grpc

namespace mangrove::cluster {

/// Whom a server lets in, and the limits that keep one peer from taking it up.
struct RpcSecurity {
  const net::Credentials* credentials = nullptr;  // null: plain text
  std::string strangers_call{};                   // see net::server_credentials()
  net::OnRefused on_refused = [](net::Refused) {};
  bool insecure = false;  // plain text is allowed on any address
  Bytes longest_message = kLongestPossible;
  Bytes room = 0;                 // for messages that have not arrived completely; 0: no limit
  Seconds handshake_within = 10;  // a connection whose TLS handshake takes longer is closed
  Seconds call_within = 60;       // a connection that has no call for so long is closed
};

/// The one gRPC server of a process, on one port.
/// threads: any thread may call any method.
class RpcServer {
 public:
  /// The services must outlive it. Plain text is allowed only on loopback addresses, unless security.insecure is set.
  /// errors: failed_precondition (plain text on another address), those of check_can_listen().
  static Result<std::unique_ptr<RpcServer>> start(const HostPort& listen, const std::vector<grpc::Service*>& services,
                                                  const RpcSecurity& security);
  ~RpcServer();

  int port() const { return port_; }
  /// Lets calls go on for `grace`, then cancels them; returns when their handlers have returned.
  void shutdown(Seconds grace);

 private:
  RpcServer(std::unique_ptr<grpc::Server> server, int port);
  std::unique_ptr<grpc::Server> server_;
  int port_;
};

/// A line to a coordinator, made when first used; credentials: null for plain text. A peer that is gone without a word
/// (power cut, broken link) is noticed within half a minute.
std::shared_ptr<grpc::Channel> open_channel(const std::string& address, const net::Credentials* credentials);
/// Opens a line with other credentials, such as those of a caller without a certificate.
std::shared_ptr<grpc::Channel> open_channel(const std::string& address,
                                            const std::shared_ptr<grpc::ChannelCredentials>& credentials);

/// As gRPC wants a deadline.
gpr_timespec from_now(Seconds seconds);

/// Waits until the server answers. errors: unavailable (not by the deadline), cancelled (stop was requested).
Status wait_connected(grpc::Channel& channel, Deadline deadline, const std::stop_token& stop);

}  // namespace mangrove::cluster
