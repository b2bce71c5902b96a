#include "mangrove/net/credentials.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "tests/base/eventually.h"
#include "tests/base/temporary_folder.h"
#include "tests/net/grpc_process.h"
#include "tests/net/tcp.h"

#include "mangrove/identity/peek.h"
#include "mangrove/identity/secret_file.h"
#include "mangrove/net/peer.grpc.pb.h"

namespace mangrove::net {
namespace {

using identity::Authority;
using identity::Identity;
using identity::Role;
using identity::wall_now;

constexpr const char* kLink = "0123456789abcdef";

/// Opens a stream for messages and closes it again: how the process at the other end takes it.
grpc::Status exchange_messages(const GrpcProcess& process,
                               const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  return exchange(process, credentials, kLink, {});
}

std::shared_ptr<const Credentials> of_other_authority(Role role) {
  return Credentials::of(Identity::make(Authority::make(wall_now()), {role, "mallory"}, wall_now()));
}

TEST(Credentials, NodesOfOneClusterTalk) {
  const GrpcProcess process(test_credentials(Role::node));
  const auto own = test_credentials(Role::node);
  const grpc::Status talked = exchange_messages(process, channel_credentials(own.get(), {Role::node}));
  EXPECT_TRUE(talked.ok()) << talked.error_message();
}

TEST(Credentials, APersonIsNoPeer) {
  const GrpcProcess process(test_credentials(Role::node));
  for (const Role role : {Role::admin, Role::client, Role::viewer}) {
    const auto own = test_credentials(role);
    const grpc::Status talked = exchange_messages(process, channel_credentials(own.get(), {Role::node}));
    EXPECT_EQ(talked.error_code(), grpc::StatusCode::PERMISSION_DENIED) << talked.error_message();
  }
}

TEST(Credentials, StrangersAreRefused) {
  const auto own = test_credentials(Role::node);
  const GrpcProcess process(own);
  const auto mallory = of_other_authority(Role::node);
  // shows the certificate of another authority, to a server that it would take
  const auto false_member = Identity::parse(mallory->identity().key().pem() + mallory->identity().certificate().pem() +
                                            own->identity().authorities_pem());
  ASSERT_TRUE(false_member.ok()) << false_member.error().message;
  const auto shows_false = Credentials::of(*false_member);
  for (const auto& credentials :
       {grpc::InsecureChannelCredentials(), stranger_credentials(own->identity().authorities().front(), {Role::node}),
        channel_credentials(shows_false.get(), {Role::node})})
    EXPECT_EQ(exchange_messages(process, credentials).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(Credentials, ANodeSpeaksForItsOwnRankAlone) {
  GrpcProcess receiver(test_credentials(Role::node, "rank-0")), honest(test_credentials(Role::node, "rank-1")),
      liar(test_credentials(Role::node, "rank-2"));
  const std::map<Rank, std::string> addresses = {{0, receiver.address()}, {1, honest.address()}, {2, liar.address()}};
  const Subjects subjects = subjects_of(all_alive(3));
  const auto to = join(receiver, "job", 0, addresses, subjects);
  const auto from = join(honest, "job", 1, addresses, subjects);
  const auto own = join(liar, "job", 2, addresses, subjects);
  const auto forged = join(liar, "job", 1, addresses, subjects);  // nobody keeps it from saying so
  forged->send(0, 1, "forged");
  own->send(0, 1, "own");  // over the same link, behind it
  EXPECT_EQ(receive(*to, {2}, 1), "own");
  from->send(0, 1, "honest");
  EXPECT_EQ(receive(*to, {1}, 1), "honest");
}

TEST(Credentials, AServerOfAnotherClusterOrRoleIsRefused) {
  const auto own = test_credentials(Role::node);
  const GrpcProcess other(of_other_authority(Role::node)), viewer(test_credentials(Role::viewer)),
      node(test_credentials(Role::node)), plain;
  for (const GrpcProcess* process : {&other, &viewer, &plain})
    EXPECT_EQ(exchange_messages(*process, channel_credentials(own.get(), {Role::node})).error_code(),
              grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(exchange_messages(node, channel_credentials(own.get(), {Role::coordinator})).error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST(Credentials, AnotherMemberThanTheOneMeantIsRefused) {
  const auto own = test_credentials(Role::node);
  const GrpcProcess process(test_credentials(Role::node, "pi"));
  const auto meant = [&](const std::string& subject) { return channel_credentials(own.get(), {Role::node}, subject); };
  EXPECT_TRUE(exchange_messages(process, meant("mangrove://node/pi")).ok());
  EXPECT_EQ(exchange_messages(process, meant("mangrove://node/pi-2")).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(Credentials, MessagesOfARankGoToNobodyElseAtItsAddress) {
  GrpcProcess sender(test_credentials(Role::node, "rank-0")), other(test_credentials(Role::node, "rank-2"));
  const std::map<Rank, std::string> addresses = {{0, sender.address()}, {1, other.address()}};
  Subjects subjects = subjects_of(all_alive(2));
  const auto from = join(sender, "job", 0, addresses, subjects);
  const auto at = join(other, "job", 1, addresses, subjects);  // says that it is rank 1
  from->send(1, 1, "weights");
  EXPECT_EQ(at->recv({0}, 1, SteadyClock().after(1)).code(), Code::deadline_exceeded);
  subjects[1] = "mangrove://node/rank-2";
  const auto again = join(sender, "job-2", 0, addresses, subjects);
  const auto rightly = join(other, "job-2", 1, addresses, subjects);
  again->send(1, 1, "weights");
  EXPECT_EQ(receive(*rightly, {0}, 1), "weights");
}

TEST(Credentials, OneThatHasExpiredIsRefusedByBothSides) {
  const Authority authority = Authority::make(wall_now() - std::chrono::days(100));
  const auto good = Credentials::of(Identity::make(authority, {Role::node, "good"}, wall_now()));
  const auto old = Credentials::of(Identity::make(authority, {Role::node, "old"}, wall_now() - std::chrono::days(31)));
  const GrpcProcess fresh_server(good), old_server(old);
  EXPECT_TRUE(exchange_messages(fresh_server, channel_credentials(good.get(), {Role::node})).ok());
  EXPECT_FALSE(exchange_messages(fresh_server, channel_credentials(old.get(), {Role::node})).ok());
  EXPECT_FALSE(exchange_messages(old_server, channel_credentials(good.get(), {Role::node})).ok());
}

TEST(Credentials, AnOpenStreamEndsWithItsCertificate) {
  const Authority authority = Authority::make(wall_now());
  const GrpcProcess process(Credentials::of(Identity::make(authority, {Role::node, "good"}, wall_now())));
  const auto brief =
      Credentials::of(Identity::make(authority, {Role::node, "brief"}, wall_now(), std::chrono::seconds(4)));
  const auto stub =
      Peer::NewStub(grpc::CreateChannel(process.address(), channel_credentials(brief.get(), {Role::node})));
  const auto open = [&](grpc::ClientContext& context) {
    context.set_deadline(soon_for_grpc());
    context.AddMetadata("mangrove-link", kLink);
    auto stream = stub->Exchange(&context);
    stream->WaitForInitialMetadata();
    return stream;
  };
  grpc::ClientContext first, second;
  EXPECT_EQ(open(first)->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_GE(wall_now(), brief->identity().certificate().valid_to()) << "cut before";
  EXPECT_EQ(open(second)->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED) << "over the same connection";
}

TEST(Credentials, MessagesGoOnWithTheNextCertificate) {
  const testing::TemporaryFolder folder;
  const Authority authority = Authority::make(wall_now());
  const Identity first = Identity::make(authority, {Role::node, "rank-1"}, wall_now(), std::chrono::seconds(16));
  ASSERT_TRUE(write_private_file(folder / "node.pem", first.pem()).ok());
  const auto own = Credentials::load(folder / "node.pem");
  ASSERT_TRUE(own.ok()) << own.error().message;
  GrpcProcess receiver(Credentials::of(Identity::make(authority, {Role::node, "rank-0"}, wall_now()))), sender(*own);
  const std::map<Rank, std::string> addresses = {{0, receiver.address()}, {1, sender.address()}};
  const auto to = join(receiver, "job", 0, addresses, subjects_of(all_alive(2)));
  const auto from = join(sender, "job", 1, addresses, subjects_of(all_alive(2)));
  from->send(0, 1, "with the first");
  EXPECT_EQ(receive(*to, {1}, 1), "with the first");
  ASSERT_TRUE(
      write_private_file(folder / "node.pem", Identity::make(authority, {Role::node, "rank-1"}, wall_now()).pem())
          .ok());
  // OpenSSL and gRPC look at the clock of the machine, so the first one has to expire in real time
  const auto late = first.certificate().valid_to() + std::chrono::seconds(1);
  ASSERT_TRUE(eventually([&] { return wall_now() > late; }, 60));
  from->send(0, 1, "with the second");
  EXPECT_EQ(receive(*to, {1}, 1), "with the second");
}

TEST(Credentials, AFileThatIsReplacedIsReadAgain) {
  const testing::TemporaryFolder folder;
  const fs::path file = folder / "node.pem";
  const Authority authority = Authority::make(wall_now());
  const Identity first = Identity::make(authority, {Role::node, "a"}, wall_now());
  ASSERT_TRUE(write_private_file(file, first.pem()).ok());
  const auto own = Credentials::load(file);
  ASSERT_TRUE(own.ok()) << own.error().message;
  const GrpcProcess process(*own);
  const auto shown = [&] {
    const auto certificates = identity::peek_certificates(process.address(), soon(), {});
    return certificates.ok() && *certificates ? (*certificates)->front().serial() : std::string("nothing");
  };
  EXPECT_EQ(shown(), first.certificate().serial());
  const Identity second = Identity::make(authority, {Role::node, "a"}, wall_now());
  ASSERT_TRUE(write_private_file(file, second.pem()).ok());
  EXPECT_TRUE(eventually([&] { return shown() == second.certificate().serial(); }, kSoon)) << shown();
}

TEST(Credentials, AFileMayHaveItsPartsInAnyOrder) {
  const testing::TemporaryFolder folder;
  const Authority authority = Authority::make(wall_now());
  const Identity node = Identity::make(authority, {Role::node, "pi"}, wall_now());
  for (const std::string& text :
       {node.pem(), authority.certificate().pem() + node.certificate().pem() + node.key().pem()}) {
    ASSERT_TRUE(write_private_file(folder / "pi.pem", text).ok());
    const auto loaded = Credentials::load(folder / "pi.pem");
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    const GrpcProcess process(*loaded);
    const grpc::Status talked = exchange_messages(process, channel_credentials(loaded->get(), {Role::node}));
    EXPECT_TRUE(talked.ok()) << talked.error_message() << " with\n" << text;
  }
}

TEST(Credentials, AFileOfAnExpiredIdentityIsAnError) {
  const testing::TemporaryFolder folder;
  const Authority authority = Authority::make(wall_now() - std::chrono::days(100));
  const Identity old = Identity::make(authority, {Role::node, "old"}, wall_now() - std::chrono::days(31));
  ASSERT_TRUE(write_private_file(folder / "old.pem", old.pem()).ok());
  const auto loaded = Credentials::load(folder / "old.pem");
  EXPECT_EQ(loaded.code(), Code::permission_denied);
  EXPECT_NE(loaded.error().message.find("expired"), std::string::npos) << loaded.error().message;
}

/// Whether the server shakes hands with a client that knows versions of TLS up to this one.
bool shakes_hands(const GrpcProcess& process, int version) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), version);
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> line(BIO_new_ssl_connect(context.get()), BIO_free_all);
  SSL* ssl = nullptr;
  BIO_get_ssl(line.get(), &ssl);
  SSL_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>("\x02h2"), 3);
  BIO_set_conn_hostname(line.get(), process.address().c_str());
  return BIO_do_connect(line.get()) == 1;
}

TEST(Credentials, OlderVersionsOfTlsAreRefused) {
  const GrpcProcess process(test_credentials(Role::node));
  EXPECT_TRUE(shakes_hands(process, TLS1_3_VERSION));
  EXPECT_FALSE(shakes_hands(process, TLS1_2_VERSION));
}

TEST(Peek, ShowsWhoAnswersAndTellsPlainText) {
  const auto own = test_credentials(Role::node);
  const GrpcProcess secure(own), plain;
  const auto shown = identity::peek_certificates(secure.address(), soon(), {});
  ASSERT_TRUE(shown.ok() && *shown);
  EXPECT_EQ((*shown)->front().serial(), own->identity().certificate().serial());
  EXPECT_EQ((*shown)->back().hash(), own->identity().authorities().front().hash());
  const auto nothing = identity::peek_certificates(plain.address(), soon(), {});
  ASSERT_TRUE(nothing.ok()) << nothing.error().message;
  EXPECT_FALSE(nothing->has_value());
}

// Who is led to an address that a stranger has chosen connects there no more than once.
TEST(Peek, OnceIsOneConnection) {
  // NOLINTNEXTLINE(cert-err33-c): as the program does
  std::signal(SIGPIPE, SIG_IGN);
  const Socket listener = listen_locally();
  const std::string address = "127.0.0.1:" + std::to_string(port_of(listener));
  std::atomic<int> connections = 0;
  const std::jthread server([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd waiting{listener.fd(), POLLIN, 0};
      if (::poll(&waiting, 1, 10) <= 0) continue;
      ++connections;
      const Socket hangs_up(::accept(listener.fd(), nullptr, nullptr));
    }
  });
  EXPECT_EQ(identity::peek_once(address, SteadyClock().after(20), {}).code(), Code::unavailable);
  EXPECT_EQ(connections, 1);
  EXPECT_EQ(identity::peek_certificates(address, SteadyClock().after(1), {}).code(), Code::unavailable);
  EXPECT_GT(connections, 2) << "others try again";
}

TEST(Peek, GivesUpAtTheDeadline) {
  std::string gone;
  {
    const GrpcProcess process;
    gone = process.address();
  }
  EXPECT_EQ(identity::peek_certificates(gone, SteadyClock().after(0.3), {}).code(), Code::unavailable);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(identity::peek_certificates(gone, soon(), stop.get_token()).ok());
}

}  // namespace
}  // namespace mangrove::net
