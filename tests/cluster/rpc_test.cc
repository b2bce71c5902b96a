#include "mangrove/cluster/rpc.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <list>

#include "tests/cluster/test_identity.h"

#include "mangrove/cluster/cluster.grpc.pb.h"

namespace mangrove::cluster {
namespace {

constexpr Seconds kAtMost = 20;  // on a machine with much else to do

/// A connection that says these bytes and then nothing.
class MuteConnection {
 public:
  MuteConnection(int port, std::string_view first) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::send(fd_, first.data(), first.size(), MSG_NOSIGNAL), static_cast<ssize_t>(first.size()));
  }
  ~MuteConnection() { ::close(fd_); }
  MuteConnection(const MuteConnection&) = delete;
  MuteConnection& operator=(const MuteConnection&) = delete;

  /// Whether the other side hangs up within the limit.
  bool is_closed(Seconds limit) const {
    const SteadyClock clock;
    const Deadline deadline = clock.after(limit);
    char bytes[4096];
    while (clock.now() < deadline) {
      pollfd waiting{fd_, POLLIN, 0};
      if (::poll(&waiting, 1, 100) > 0 && ::recv(fd_, bytes, sizeof(bytes), 0) <= 0) return true;
    }
    return false;
  }

 private:
  int fd_;
};

constexpr std::string_view kHttp2Begins("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);

TEST(RpcServer, ClosesConnectionsThatDoNotSayWhoTheyAre) {
  Cluster::Service service;
  const auto own = test_credentials(identity::Role::coordinator, "c");
  const auto server = RpcServer::start({"127.0.0.1", 0}, {&service},
                                       {.credentials = own.get(), .handshake_within = 0.3, .call_within = 3600});
  ASSERT_TRUE(server.ok()) << server.error().message;
  const MuteConnection silent((*server)->port(), ""),
      half_said((*server)->port(), std::string_view("\x16\x03\x01\x02", 4)),
      nonsense((*server)->port(), "GET / HTTP/1.1\r\n"), plain((*server)->port(), kHttp2Begins);
  for (const MuteConnection* connection : {&silent, &half_said, &nonsense, &plain})
    EXPECT_TRUE(connection->is_closed(kAtMost));
}

TEST(RpcServer, HalfOpenConnectionsKeepNobodyOut) {
  Cluster::Service service;
  const auto own = test_credentials(identity::Role::coordinator, "c");
  const auto server = RpcServer::start({"127.0.0.1", 0}, {&service},
                                       {.credentials = own.get(), .handshake_within = 2, .call_within = 3600});
  ASSERT_TRUE(server.ok()) << server.error().message;
  std::list<MuteConnection> connections;
  for (int i = 0; i < 500; ++i) connections.emplace_back((*server)->port(), "");
  const auto client = test_credentials(identity::Role::client, "anna");
  const auto channel = open_channel("127.0.0.1:" + std::to_string((*server)->port()), client.get());
  EXPECT_TRUE(wait_connected(*channel, SteadyClock().after(kAtMost), {}).ok());
  for (const MuteConnection& connection : connections) EXPECT_TRUE(connection.is_closed(kAtMost));
}

TEST(RpcServer, ClosesConnectionsWithoutACall) {
  Cluster::Service service;
  const auto server = RpcServer::start({"127.0.0.1", 0}, {&service}, {.handshake_within = 3600, .call_within = 0.3});
  ASSERT_TRUE(server.ok()) << server.error().message;
  EXPECT_TRUE(MuteConnection((*server)->port(), kHttp2Begins).is_closed(kAtMost));
}

}  // namespace
}  // namespace mangrove::cluster
