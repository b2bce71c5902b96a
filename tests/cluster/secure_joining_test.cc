// Who gets into a cluster with certificates, what identity it has then, and whom it takes for the coordinator.
#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/cluster/relay.h"
#include "tests/cluster/secure_cluster.h"
#include "tests/cluster/test_identity.h"

#include "mangrove/base/file.h"
#include "mangrove/cluster/address.h"

namespace mangrove::cluster {
namespace {

using identity::Identity;
using identity::JoinString;
using identity::Role;
using identity::Subject;

TEST_F(SecureCluster, ANodeJoinsWithAStringAndLaterWithout) {
  const JoinString string = invite("node");
  const auto credentials = join(string, {Role::node, "pi"});
  ASSERT_TRUE(credentials.ok()) << credentials.error().message;
  {
    const auto node = start_node(*credentials);
    ASSERT_TRUE(node.ok()) << node.error().message;
    EXPECT_EQ((*node)->name(), "pi") << "the certificate says who it is";
    EXPECT_EQ(listing(), "pi alive");
  }
  const auto again = join(string, {Role::node, "pi"});
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ((*again)->identity().certificate().serial(), (*credentials)->identity().certificate().serial());
  const auto later =
      find_credentials({.coordinator = string.address, .roles = {Role::node}, .name = "pi"}, members, soon(), {});
  ASSERT_TRUE(later.ok()) << later.error().message;
  EXPECT_EQ((*later)->subject(), (Subject{Role::node, "pi"}));
}

TEST_F(SecureCluster, AStringIsUsedOnce) {
  const JoinString string = invite("node");
  ASSERT_TRUE(enrol(string, {Role::node, "pi"}, soon(), {}).ok());
  const auto second = enrol(string, {Role::node, "other"}, soon(), {});
  EXPECT_EQ(second.code(), Code::permission_denied);
  EXPECT_NE(second.error().message.find("used already, by pi"), std::string::npos) << second.error().message;
}

TEST_F(SecureCluster, ALostAnswerDoesNotUseTheStringUp) {
  const JoinString string = invite("node");
  const Subject pi{Role::node, "pi"};
  ASSERT_TRUE(enrol(string, pi, soon(), {}, *members.joining_key(string, pi)).ok());  // and power fails
  const auto again = join(string, pi);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ((*again)->subject(), pi);
  for (const fs::directory_entry& file : fs::directory_iterator(members.folder()))
    EXPECT_NE(file.path().extension(), ".key") << "the key is in the identity now";
}

TEST_F(SecureCluster, AnotherClusterThanThatOfTheStringHearsNothing) {
  const TestCluster impostor;
  JoinString string = invite("node");
  string.address = impostor.coordinator->address();
  const auto joined = enrol(string, {Role::node, "pi"}, soon(), {});
  EXPECT_EQ(joined.code(), Code::permission_denied);
  EXPECT_NE(joined.error().message.find("another cluster"), std::string::npos) << joined.error().message;
}

TEST_F(SecureCluster, AnImpostorThatShowsTheRightAuthorityIsRefused) {
  // it has a certificate of its own authority, and shows that of the cluster behind it
  const Identity own =
      Identity::make(identity::Authority::make(identity::wall_now()), {Role::coordinator, "c"}, identity::wall_now());
  const auto mixed =
      Identity::parse(own.key().pem() + own.certificate().pem() + registrar->authority().certificate().pem());
  ASSERT_TRUE(mixed.ok()) << mixed.error().message;
  CoordinatorOptions false_options;
  false_options.listen = "127.0.0.1:0";
  false_options.credentials = net::Credentials::of(*mixed);
  const auto impostor = Coordinator::start(false_options);
  ASSERT_TRUE(impostor.ok()) << impostor.error().message;
  JoinString string = invite("node");
  string.address = (*impostor)->address();
  EXPECT_FALSE(enrol(string, {Role::node, "pi"}, soon(), {}).ok());
  const auto found = find_credentials({.coordinator = string.address, .roles = {Role::admin}}, admins, soon(), {});
  EXPECT_EQ(found.code(), Code::permission_denied);
  EXPECT_NE(found.error().message.find("another certificate authority"), std::string::npos) << found.error().message;
}

TEST_F(SecureCluster, WhoJoinsWithAClockThatIsBehindHearsSo) {
  const JoinString string = invite("node");
  coordinator.reset();
  const identity::WallTime tomorrow = identity::wall_now() + std::chrono::days(1);
  options.credentials =
      net::Credentials::of(Identity::make(registrar->authority(), {Role::coordinator, "coordinator"}, tomorrow));
  start();
  const auto joined = enrol(string, {Role::node, "pi"}, soon(), {});
  EXPECT_EQ(joined.code(), Code::permission_denied);
  EXPECT_NE(joined.error().message.find("is the clock right?"), std::string::npos) << joined.error().message;
}

TEST_F(SecureCluster, ANodeIsNoCoordinator) {
  CoordinatorOptions false_options;
  false_options.listen = "127.0.0.1:0";
  false_options.credentials = *join(invite("node"), {Role::node, "pi"});
  const auto impostor = Coordinator::start(false_options);
  ASSERT_TRUE(impostor.ok()) << impostor.error().message;
  const auto found =
      find_credentials({.coordinator = (*impostor)->address(), .roles = {Role::admin}}, admins, soon(), {});
  EXPECT_EQ(found.code(), Code::permission_denied);
  EXPECT_NE(found.error().message.find("the node pi"), std::string::npos) << found.error().message;
  // nor does the transport believe it
  const auto client = Client::connect((*impostor)->address(), net::Credentials::of(admin_identity()), 1);
  EXPECT_EQ(client.code(), Code::unavailable);
}

TEST_F(SecureCluster, ADeadOrPlainCoordinatorIsToldApart) {
  const std::string address = coordinator->address();
  coordinator.reset();
  const auto dead =
      find_credentials({.coordinator = address, .roles = {Role::admin}}, admins, SteadyClock().after(0.3), {});
  EXPECT_EQ(dead.code(), Code::unavailable);
  EXPECT_NE(dead.error().message.find("mangrove coordinator"), std::string::npos) << dead.error().message;
  options.credentials = nullptr;
  options.registrar = nullptr;
  start();
  const auto plain = find_credentials({.coordinator = address, .roles = {Role::admin}}, admins, soon(), {});
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_EQ(*plain, nullptr);
}

TEST_F(SecureCluster, PlainTextIsNotTakenWhereCertificatesWere) {
  const Access access{.coordinator = coordinator->address(), .roles = {Role::admin}};
  ASSERT_TRUE(find_credentials(access, admins, soon(), {}).ok());
  coordinator.reset();
  options.credentials = nullptr;
  options.registrar = nullptr;
  start();
  const auto plain = find_credentials(access, admins, soon(), {});
  EXPECT_EQ(plain.code(), Code::permission_denied);
  EXPECT_NE(plain.error().message.find("the coordinator there had one"), std::string::npos) << plain.error().message;
  Access insecure = access;
  insecure.insecure = true;
  EXPECT_TRUE(find_credentials(insecure, admins, soon(), {}).ok());
  EXPECT_TRUE(find_credentials(access, members, soon(), {}).ok()) << "who has never seen it";
}

TEST_F(SecureCluster, SaysHowToGetAnIdentityWhereThereIsNone) {
  const auto client = connect(members, {Role::client});
  EXPECT_EQ(client.code(), Code::failed_precondition);
  EXPECT_NE(client.error().message.find("mangrove join"), std::string::npos) << client.error().message;
  const auto node = connect(members, {Role::node});
  EXPECT_NE(node.error().message.find("mangrove node --join"), std::string::npos) << node.error().message;
}

TEST_F(SecureCluster, AnAdminsOwnNodesNeedNoString) {
  const auto join_own = [&](const std::string& name) {
    return find_credentials({.coordinator = coordinator->address(), .roles = {Role::node}, .name = name}, admins,
                            soon(), {});
  };
  const auto ann = join_own("ann"), ben = join_own("ben"), again = join_own("ann"), any = join_own("");
  ASSERT_TRUE(ann.ok()) << ann.error().message;
  ASSERT_TRUE(ben.ok() && again.ok() && any.ok());
  EXPECT_EQ((*ann)->subject(), (Subject{Role::node, "ann"}));
  EXPECT_EQ((*ben)->subject(), (Subject{Role::node, "ben"}));
  EXPECT_EQ((*again)->identity().certificate().serial(), (*ann)->identity().certificate().serial());
  EXPECT_EQ((*any)->subject().role, Role::node) << "one that is there";
  // who may not invite gets none
  ASSERT_TRUE(join(invite("client"), {Role::client, "clara"}).ok());
  EXPECT_EQ(connect(members, {Role::node}).code(), Code::failed_precondition);
}

TEST_F(SecureCluster, AnIdentityOfAnAuthorityThatWasHereBeforeIsReplaced) {
  const fs::path file = registrar->folder() / "coordinator.pem";
  const Identity old = Identity::make(test_authority(), {Role::coordinator, "coordinator"}, identity::wall_now());
  ASSERT_TRUE(write_private_file(file, old.pem()).ok());
  const auto credentials = coordinator_credentials(*registrar, admins, identity::wall_now());
  ASSERT_TRUE(credentials.ok()) << credentials.error().message;
  EXPECT_TRUE((*credentials)->identity().believes(registrar->authority().certificate().hash()));
}

TEST_F(SecureCluster, TheAdminIsKeptOverARestart) {
  const std::string serial = admin_identity().certificate().serial();
  coordinator.reset();
  options.credentials = *coordinator_credentials(*registrar, admins, identity::wall_now());
  start();
  const auto known = *admins.of_authority(registrar->authority().certificate().hash());
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known.at(0).identity.certificate().serial(), serial);
  EXPECT_TRUE(admin()->members().ok());
}

TEST_F(SecureCluster, RefusesAKeyThatOthersMayRead) {
  const auto known = *admins.of_authority(registrar->authority().certificate().hash());
  fs::permissions(known.at(0).path, fs::perms::others_read, fs::perm_options::add);
  const auto client = connect(admins, {Role::admin});
  EXPECT_EQ(client.code(), Code::permission_denied);
  EXPECT_NE(client.error().message.find("chmod 600"), std::string::npos) << client.error().message;
}

/// Joins that look for the coordinator elsewhere, where no network can be searched.
struct SearchingCluster : SecureCluster {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread uses the environment
  SearchingCluster() { ::setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1); }

  Status search(const JoinString& string, const std::string& address) const {
    const Access access{.coordinator = address, .roles = {Role::node}, .searches = true};
    const auto joined =
        join_or_find_credentials(access, string, {Role::node, "pi"}, members, SteadyClock().after(2), {});
    return joined.ok() ? Status() : Status(joined.error());
  }
  static std::unique_ptr<Coordinator> impostor(std::shared_ptr<const net::Credentials> credentials) {
    CoordinatorOptions false_options;
    false_options.listen = "127.0.0.1:0";
    false_options.credentials = std::move(credentials);
    return std::move(*Coordinator::start(false_options));
  }
};

TEST_F(SearchingCluster, WhoIsNotTheCoordinatorEndsNoSearchForIt) {
  const JoinString string = invite("node"), of_another = invite("node");
  ASSERT_TRUE(join(of_another, {Role::node, "pi"}).ok());
  const auto another = impostor(test_credentials(Role::coordinator, "c")), plain = impostor(nullptr),
             node = impostor(
                 net::Credentials::of(Identity::make(registrar->authority(), {Role::node, "n"}, identity::wall_now())));
  const std::vector<std::pair<const Coordinator*, std::string>> impostors{{another.get(), "it is of another cluster"},
                                                                          {plain.get(), "it has no certificate"},
                                                                          {node.get(), "it is a node"}};
  for (const auto& [one, why] : impostors) {
    for (const JoinString& with : {string, of_another}) {  // that of a newcomer, that of a member
      const Status searched = search(with, one->address());
      EXPECT_EQ(searched.code(), Code::unavailable) << why;
      EXPECT_NE(searched.error().message.find("is not the coordinator (" + why), std::string::npos)
          << searched.error().message;
    }
  }
  EXPECT_TRUE(search(of_another, string.address).ok());
  EXPECT_TRUE(search(string, string.address).ok()) << "and the string is not used up";
}

TEST_F(SearchingCluster, WhoPassesTheFirstConnectionOnEndsNoSearchEither) {
  const JoinString string = invite("node");
  const auto another = impostor(test_credentials(Role::coordinator, "c"));
  const auto port = [](const std::string& address) { return parse_host_port(address)->port; };
  const Relay relay({port(string.address), port(another->address())});
  const Status searched = search(string, relay.address());
  EXPECT_EQ(searched.code(), Code::unavailable) << searched.error().message;
  EXPECT_TRUE(search(string, string.address).ok()) << "the string is not used up";
}

TEST_F(SearchingCluster, TheCoordinatorItselfMaySayNo) {
  const JoinString string = invite("node");
  ASSERT_TRUE(enrol(string, {Role::node, "other"}, soon(), {}).ok());
  EXPECT_EQ(search(string, string.address).code(), Code::permission_denied);
}

// The authority of a string may have been replaced because its key was stolen.
TEST_F(SearchingCluster, AMemberBelievesItsOwnAuthorityAndNotThatOfItsString) {
  JoinString string = invite("node");
  ASSERT_TRUE(join(string, {Role::node, "pi"}).ok());
  string.authority_hash = test_authority().certificate().hash();
  const auto thief = impostor(test_credentials(Role::coordinator, "c"));
  const Status searched = search(string, thief->address());
  EXPECT_EQ(searched.code(), Code::unavailable) << searched.error().message;
  EXPECT_TRUE(search(string, string.address).ok());
}

TEST(Plain, ListensOnThisMachineAlone) {
  for (const char* address : {"0.0.0.0:0", "[::]:0"}) {
    CoordinatorOptions options;
    options.listen = address;
    const auto refused = Coordinator::start(options);
    EXPECT_EQ(refused.code(), Code::failed_precondition);
    EXPECT_NE(refused.error().message.find("--insecure"), std::string::npos) << refused.error().message;
    NodeOptions node;
    node.listen = address;
    node.threads = 1;
    EXPECT_EQ(Node::start(node).code(), Code::failed_precondition);
  }
  CoordinatorOptions options;
  options.listen = "0.0.0.0:0";
  options.insecure = true;
  EXPECT_TRUE(Coordinator::start(options).ok());
}

}  // namespace
}  // namespace mangrove::cluster
