#include "mangrove/cluster/coordinator.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cluster/fake_node.h"
#include "tests/cluster/test_cluster.h"

#include "mangrove/cluster/address.h"

namespace mangrove::cluster {
namespace {

Result<std::unique_ptr<Node>> start_node(const std::string& coordinator, Seconds join_timeout) {
  NodeOptions options;
  options.coordinator = coordinator;
  options.name = "n";
  options.listen = "127.0.0.1:0";
  options.credentials = test_credentials(identity::Role::node, "n");
  options.threads = 1;
  options.join_timeout = join_timeout;
  options.rejoin_timeout = join_timeout;
  options.play = scripted_role;
  return Node::start(options);
}

/// A TCP connection to the address, or a listening socket that never answers.
class RawSocket {
 public:
  static RawSocket connected(const std::string& address) {
    RawSocket made;
    const sockaddr_in to = loopback(parse_host_port(address)->port);
    EXPECT_EQ(connect(made.fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    return made;
  }
  static RawSocket listening() {
    RawSocket made;
    const sockaddr_in any = loopback(0);
    EXPECT_EQ(bind(made.fd_, reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
    EXPECT_EQ(listen(made.fd_, 8), 0);
    return made;
  }
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~RawSocket() {
    if (fd_ >= 0) close(fd_);
  }
  void send(const std::string& bytes) const { EXPECT_GT(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), 0); }
  std::string address() const {
    sockaddr_in own{};
    socklen_t length = sizeof own;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &length);
    return "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
  }

 private:
  RawSocket() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  int fd_;
};

TEST(Coordinator, TakesAFreePortAndSaysWhich) {
  const TestCluster cluster;
  const Result<HostPort> address = parse_host_port(cluster.coordinator->address());
  ASSERT_TRUE(address.ok());
  EXPECT_GT(address->port, 0);
  EXPECT_EQ(address->host, "127.0.0.1");
}

TEST(Coordinator, NamesAPortThatIsInUse) {
  const TestCluster cluster;
  CoordinatorOptions options;
  options.listen = cluster.coordinator->address();
  const auto second = Coordinator::start(options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.code(), Code::already_exists);
  EXPECT_NE(second.error().message.find(options.listen), std::string::npos) << second.error().message;
}

TEST(Coordinator, RefusesAnAddressThatIsNone) {
  CoordinatorOptions options;
  options.listen = "nonsense";
  EXPECT_EQ(Coordinator::start(options).code(), Code::invalid_argument);
}

TEST(Coordinator, ShutsDownTwiceWithNobodyThere) {
  const TestCluster cluster;
  cluster.coordinator->shutdown();
  cluster.coordinator->shutdown();
  EXPECT_EQ(Client::connect(cluster.coordinator->address(), nullptr, 0.2).code(), Code::unavailable);
}

TEST(Cluster, ListsNodesThatJoinedWithTheirDescription) {
  TestCluster cluster(2);
  EXPECT_EQ(cluster.listing(), "node-1 alive, node-2 alive");
  const std::vector<NodeStatus> nodes = *cluster.client()->nodes();
  EXPECT_EQ(nodes[0].description().address(), cluster.nodes[0]->address());
  EXPECT_GE(nodes[0].description().cores(), 1);
  EXPECT_EQ(nodes[0].description().threads(), 1);
  EXPECT_GT(nodes[0].description().memory_bytes(), MiB(64));
  EXPECT_GT(nodes[0].description().reference_conv_flops(), 1e6);
  EXPECT_FALSE(nodes[0].description().host().empty());
  EXPECT_EQ(nodes[0].description().host(), nodes[1].description().host()) << "they share cores";
}

TEST(Cluster, ANodeThatShutsDownHasLeft) {
  TestCluster cluster(2);
  cluster.nodes[0]->shutdown();
  EXPECT_TRUE(eventually([&] { return cluster.listing() == "node-1 left, node-2 alive"; })) << cluster.listing();
}

TEST(Cluster, HeartbeatsCarryResourceUse) {
  const TestCluster cluster(1);
  EXPECT_TRUE(eventually([&] { return cluster.client()->nodes()->front().use().rss_bytes() > MiB(1); }));
}

TEST(Cluster, ANameThatIsTakenGetsANumber) {
  TestCluster cluster;
  cluster.add_node("pi");
  EXPECT_EQ(cluster.add_node("pi").name(), "pi#2");
}

TEST(Cluster, ASilentNodeIsLostAndMayJoinAgain) {
  TestCluster cluster(0, /*misses=*/5);
  FakeNode frozen(cluster.coordinator->address(), "pi");
  frozen.hello();
  const auto welcome = frozen.next();
  ASSERT_TRUE(welcome && welcome->has_welcome());
  EXPECT_EQ(welcome->welcome().name(), "pi");
  EXPECT_DOUBLE_EQ(welcome->welcome().heartbeat_interval_s(), TestCluster::kHeartbeat);
  EXPECT_EQ(cluster.listing(), "pi alive");
  ASSERT_TRUE(eventually([&] { return cluster.listing() == "pi lost"; }));
  frozen.heartbeat();  // it thaws
  const auto answer = frozen.next();
  ASSERT_TRUE(answer && answer->has_rejected());
  EXPECT_NE(answer->rejected().reason().find("lost"), std::string::npos);
  EXPECT_TRUE(frozen.is_cut());
  FakeNode again(cluster.coordinator->address(), "pi");
  again.hello();
  ASSERT_TRUE(again.next());
  EXPECT_EQ(cluster.listing(), "pi alive");
}

TEST(Cluster, ABrokenLineIsALossAtOnce) {
  TestCluster cluster;
  auto node = std::make_unique<FakeNode>(cluster.coordinator->address(), "pi");
  node->hello();
  ASSERT_TRUE(node->next());
  node.reset();
  EXPECT_TRUE(eventually([&] { return cluster.listing() == "pi lost"; }));
}

TEST(Cluster, ANodeJoinsARestartedCoordinatorAgain) {
  TestCluster cluster(1);
  const std::string address = cluster.coordinator->address();
  cluster.coordinator.reset();
  CoordinatorOptions options;
  options.listen = address;
  options.credentials = cluster.options.credentials;
  options.heartbeat_interval = TestCluster::kHeartbeat;
  auto started = Coordinator::start(options);
  ASSERT_TRUE(started.ok()) << started.error().message;
  cluster.coordinator = std::move(*started);
  EXPECT_TRUE(eventually([&] { return cluster.listing() == "node-1 alive"; }));
}

TEST(Node, SaysThatTheCoordinatorIsGoneForGood) {
  TestCluster cluster;
  auto node = start_node(cluster.coordinator->address(), 0.5);
  ASSERT_TRUE(node.ok());
  cluster.coordinator.reset();
  const Status ended = (*node)->wait({});
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.code(), Code::unavailable);
}

TEST(Node, WaitsUntilItIsStopped) {
  TestCluster cluster(1);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(cluster.nodes[0]->wait(stop.get_token()).ok());
}

TEST(Node, NamesACoordinatorThatCannotBeReached) {
  const RawSocket mute = RawSocket::listening();  // accepts and never answers
  const std::string closed = [] { return RawSocket::listening().address(); }();
  for (const std::string& address : {closed, mute.address()}) {
    const SteadyClock clock;
    const Instant start = clock.now();
    const auto node = start_node(address, 0.5);
    ASSERT_FALSE(node.ok());
    EXPECT_EQ(node.code(), Code::unavailable);
    EXPECT_NE(node.error().message.find(address), std::string::npos) << node.error().message;
    EXPECT_NE(node.error().message.find("mangrove coordinator"), std::string::npos) << node.error().message;
    EXPECT_LT(clock.now() - start, 10);
  }
}

TEST(Node, RefusesAddressesThatAreNone) {
  EXPECT_EQ(start_node("nonsense", 1).code(), Code::invalid_argument);
}

TEST(Client, NamesACoordinatorThatCannotBeReached) {
  const RawSocket mute = RawSocket::listening();
  const SteadyClock clock;
  const Instant start = clock.now();
  const auto client = Client::connect(mute.address(), nullptr, 0.3);
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.code(), Code::unavailable);
  EXPECT_NE(client.error().message.find(mute.address()), std::string::npos) << client.error().message;
  EXPECT_LT(clock.now() - start, 10);
  EXPECT_EQ(Client::connect("nonsense").code(), Code::invalid_argument);
}

TEST(Cluster, PeersThatTalkNonsenseDoNotDisturbIt) {
  TestCluster cluster(1);
  const std::string address = cluster.coordinator->address();
  const RawSocket http = RawSocket::connected(address);
  http.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const RawSocket binary = RawSocket::connected(address);
  binary.send(std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string(1000, '\xff'));
  const RawSocket mute = RawSocket::connected(address);

  FakeNode impolite(address);
  impolite.heartbeat();  // before saying hello
  EXPECT_TRUE(impolite.is_cut());
  FakeNode odd(address, "odd");
  odd.hello();
  ASSERT_TRUE(odd.next());
  FromNode ended;
  ended.mutable_role_ended()->set_job_id("no such job");
  ended.mutable_role_ended()->set_code(-77);
  odd.say(ended);
  odd.say(FromNode());
  FromClient stop;
  stop.mutable_stop();
  EXPECT_EQ(open_run_job(address, stop).code(), Code::invalid_argument);
  EXPECT_EQ(cluster.listing(), "node-1 alive, odd alive");
}

TEST(Cluster, AStreamThatSaysNothingIsNotKeptWaitingAtShutdown) {
  TestCluster cluster;
  FakeNode mute(cluster.coordinator->address());
  cluster.coordinator->shutdown();
  EXPECT_TRUE(mute.is_cut());
}

}  // namespace
}  // namespace mangrove::cluster
