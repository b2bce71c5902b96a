#include "mangrove/cluster/rpc.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <cstdint>

namespace mangrove::cluster {
namespace {

constexpr auto kLongestMessageBytes = static_cast<int>(kLongestPossible);
constexpr int kMostCalls = 128;       // of a connection at once
constexpr int kConnectMs = 10'000;    // for one attempt: a slow board needs seconds when many shake hands at once
constexpr int kKeepaliveMs = 10'000;  // between pings
constexpr int kKeepaliveTimeoutMs = 20'000;  // for the answer to one

int milliseconds(Seconds seconds) {
  return static_cast<int>(seconds * 1000);
}

void set_server_options(grpc::ServerBuilder& builder, const RpcSecurity& security) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(std::min(security.longest_message, kLongestPossible)));
  if (security.room > 0) {
    grpc::ResourceQuota room("messages that come in");
    room.Resize(static_cast<std::size_t>(security.room));
    builder.SetResourceQuota(room);
  }
  builder.SetMaxSendMessageSize(kLongestMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostCalls);
  // without this, two servers could listen on one port and share its connections
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, milliseconds(security.handshake_within));
  // the peer opens another connection when it has a call
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, milliseconds(security.call_within));
  // the pings of open_channel() are no abuse
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
}

}  // namespace

gpr_timespec from_now(Seconds seconds) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_micros(static_cast<std::int64_t>(seconds * 1e6), GPR_TIMESPAN));
}

RpcServer::RpcServer(std::unique_ptr<grpc::Server> server, int port) : server_(std::move(server)), port_(port) {}

RpcServer::~RpcServer() {
  shutdown(0);
}

Result<std::unique_ptr<RpcServer>> RpcServer::start(const HostPort& listen, const std::vector<grpc::Service*>& services,
                                                    const RpcSecurity& security) {
  if (security.credentials == nullptr && !security.insecure && !listen.is_loopback())
    return make_error(Code::failed_precondition,
                      "cannot listen on " + listen.to_string() +
                          " without certificates: whoever reaches this address could run jobs, read data and change "
                          "results; get certificates (docs/security.md), listen on 127.0.0.1, or take --insecure");
  // gRPC does not say why it cannot listen
  MG_RETURN_IF_ERROR(check_can_listen(listen));
  grpc::ServerBuilder builder;
  set_server_options(builder, security);
  int port = 0;
  builder.AddListeningPort(listen.to_string(),
                           net::server_credentials(security.credentials, security.strangers_call, security.on_refused),
                           &port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0)
    return make_error(Code::unavailable, "the server on " + listen.to_string() + " did not start");
  return std::unique_ptr<RpcServer>(new RpcServer(std::move(server), port));
}

void RpcServer::shutdown(Seconds grace) {
  server_->Shutdown(from_now(grace));
}

std::shared_ptr<grpc::Channel> open_channel(const std::string& address, const net::Credentials* credentials) {
  return open_channel(address, net::channel_credentials(credentials, {identity::Role::coordinator}));
}

std::shared_ptr<grpc::Channel> open_channel(const std::string& address,
                                            const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kLongestMessageBytes);
  arguments.SetMaxSendMessageSize(kLongestMessageBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  // a connection of its own for each channel: a second one is opened because the first may be broken
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // a proxy for web pages does not lead to the boards in this room
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetSslTargetNameOverride(identity::kServerName);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

Status wait_connected(grpc::Channel& channel, Deadline deadline, const std::stop_token& stop) {
  constexpr Seconds kSlice = 0.1;  // how soon a stop is seen
  const SteadyClock clock;
  while (!stop.stop_requested()) {
    const Seconds left = deadline - clock.now();
    if (channel.WaitForConnected(from_now(std::clamp(left, 0.0, kSlice)))) return {};
    if (left <= 0) return make_error(Code::unavailable, "no answer");
  }
  return make_error(Code::cancelled, "stopped while connecting");
}

}  // namespace mangrove::cluster
