// Members that are revoked, certificates that expire, and those that are renewed in time.
#include <gtest/gtest.h>

#include <future>

#include "tests/cluster/secure_cluster.h"

#include "mangrove/base/file.h"

namespace mangrove::cluster {
namespace {

using identity::Identity;
using identity::Role;
using identity::Subject;

/// When an identity was made that is due for renewal, and that has not expired.
identity::WallTime three_weeks_ago() {
  return identity::wall_now() - std::chrono::days(23);
}

bool is_renewed(const fs::path& file) {
  return !Identity::load(file)->is_due_for_renewal(identity::wall_now());
}

TEST_F(SecureCluster, ACertificateThatHasExpiredIsRefused) {
  const identity::WallTime then = identity::wall_now() - std::chrono::days(31);
  const Identity old = Identity::make(registrar->authority(), {Role::admin, "old"}, then);
  ASSERT_TRUE(members.save(old).ok());
  const auto found =
      find_credentials({.coordinator = coordinator->address(), .roles = {Role::admin}}, members, soon(), {});
  EXPECT_EQ(found.code(), Code::permission_denied);
  EXPECT_NE(found.error().message.find("expired"), std::string::npos) << found.error().message;
  EXPECT_NE(found.error().message.find("start its coordinator again"), std::string::npos) << found.error().message;
  ASSERT_TRUE(members.save(Identity::make(registrar->authority(), {Role::node, "pi"}, then)).ok());
  const auto node = connect(members, {Role::node});
  EXPECT_NE(node.error().message.find("mangrove invite --role node --name pi"), std::string::npos)
      << node.error().message;
  const auto client = Client::connect(coordinator->address(), net::Credentials::of(old), 1);
  EXPECT_FALSE(client.ok() && (*client)->nodes().ok());
}

TEST_F(SecureCluster, ARevokedNodeIsCutAndStaysOut) {
  const auto credentials = *join(invite("node"), {Role::node, "pi"});
  const auto node = start_node(credentials);
  ASSERT_TRUE(node.ok()) << node.error().message;
  ASSERT_EQ(listing(), "pi alive");
  ASSERT_TRUE(admin()->revoke("pi").ok());
  EXPECT_TRUE(eventually([&] { return listing() == "pi lost"; })) << listing();
  const auto again = start_node(credentials);
  EXPECT_EQ(again.code(), Code::permission_denied);
  EXPECT_NE(again.error().message.find("pi was revoked"), std::string::npos) << again.error().message;
}

TEST_F(SecureCluster, WhoTakesANameOverPutsTheOldBoardOut) {
  const auto stolen = *join(invite("node"), {Role::node, "pi"});
  const auto node = start_node(stolen);
  ASSERT_TRUE(node.ok()) << node.error().message;
  ASSERT_EQ(listing(), "pi alive");
  const auto enrolled = enrol(invite("node", "pi"), {Role::node, "other"}, soon(), {});
  ASSERT_TRUE(enrolled.ok()) << enrolled.error().message;
  EXPECT_TRUE(eventually([&] { return listing() == "pi lost"; })) << listing();
  const auto replacement = start_node(net::Credentials::of(*enrolled));
  ASSERT_TRUE(replacement.ok()) << replacement.error().message;
  EXPECT_EQ((*replacement)->name(), "pi");
  EXPECT_EQ(start_node(stolen).code(), Code::permission_denied);
}

TEST_F(SecureCluster, AnExpiredCertificateEndsWhatIsOpenUnlessItWasRenewed) {
  const auto make = [&](const std::string& name) {
    return net::Credentials::of(
        Identity::make(registrar->authority(), {Role::node, name}, identity::wall_now(), std::chrono::seconds(8)));
  };
  const auto pi = make("pi"), pa = make("pa");
  const auto left = start_node(pi), stays = start_node(pa);
  ASSERT_TRUE(left.ok()) << left.error().message;
  ASSERT_TRUE(stays.ok()) << stays.error().message;
  const auto late = pa->identity().certificate().valid_to() - std::chrono::seconds(3);
  ASSERT_TRUE(eventually([&] { return identity::wall_now() >= late; }));
  ASSERT_TRUE(renew(coordinator->address(), *pa).ok());
  EXPECT_TRUE(eventually([&] { return listing() == "pi lost, pa alive"; }, 60)) << listing();
  EXPECT_GE(identity::wall_now(), pi->identity().certificate().valid_to()) << "cut before";
  EXPECT_EQ(start_node(pi).code(), Code::unavailable) << "nor does it shake hands";
}

TEST_F(SecureCluster, ANodeTriesUntilItsCertificateExpires) {
  const Identity brief =
      Identity::make(registrar->authority(), {Role::node, "pi"}, identity::wall_now(), std::chrono::seconds(6));
  const auto node = start_node(net::Credentials::of(brief));
  ASSERT_TRUE(node.ok()) << node.error().message;
  coordinator.reset();
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return (*node)->wait(stop.get_token()); });
  EXPECT_EQ(waiting.wait_for(std::chrono::seconds(60)), std::future_status::ready) << "it tries on";
  stop.request_stop();
  const Status gone = waiting.get();
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.code(), Code::unavailable);
  EXPECT_GE(identity::wall_now(), brief.certificate().valid_to()) << "it gave up before";
  EXPECT_NE(gone.error().message.find("has expired"), std::string::npos) << gone.error().message;
}

TEST_F(SecureCluster, AnIdentityThatIsDueIsRenewedWhereItIsUsed) {
  const fs::path file =
      *members.save(Identity::make(registrar->authority(), {Role::client, "anna"}, three_weeks_ago()));
  ASSERT_TRUE(connect(members, {Role::client}).ok());
  const Identity renewed = *Identity::load(file);
  EXPECT_EQ(renewed.subject(), (Subject{Role::client, "anna"}));
  EXPECT_FALSE(renewed.is_due_for_renewal(identity::wall_now()));
  EXPECT_TRUE((*connect(members, {Role::client}))->nodes().ok());
}

TEST_F(SecureCluster, ANodeRenewsItsCertificateWhileItRuns) {
  const fs::path file = *members.save(Identity::make(registrar->authority(), {Role::node, "pi"}, three_weeks_ago()));
  const auto node = start_node(*net::Credentials::load(file));
  ASSERT_TRUE(node.ok()) << node.error().message;
  EXPECT_TRUE(eventually([&] { return is_renewed(file); }));
  EXPECT_EQ(listing(), "pi alive");
}

TEST_F(SecureCluster, TheCoordinatorRenewsItsOwn) {
  const fs::path file = registrar->folder() / "coordinator.pem";
  const Identity old = Identity::make(registrar->authority(), {Role::coordinator, "coordinator"}, three_weeks_ago());
  coordinator.reset();
  ASSERT_TRUE(write_private_file(file, old.pem()).ok());
  options.credentials = *net::Credentials::load(file);
  start();
  EXPECT_TRUE(eventually([&] { return is_renewed(file); }));
  EXPECT_TRUE(admin()->nodes().ok());
}

// A coordinator runs for months, and its user may not give a command within them.
TEST_F(SecureCluster, TheAdminIsRenewedWhileTheCoordinatorRuns) {
  const fs::path file = admins.of_authority(registrar->authority().certificate().hash())->at(0).path;
  coordinator.reset();
  ASSERT_TRUE(
      write_private_file(file, Identity::make(registrar->authority(), {Role::admin, "admin"}, three_weeks_ago()).pem())
          .ok());
  start();
  EXPECT_TRUE(eventually([&] { return is_renewed(file); }));
  EXPECT_EQ(Identity::load(file)->subject(), (Subject{Role::admin, "admin"}));
  EXPECT_TRUE(admin()->members().ok());
}

}  // namespace
}  // namespace mangrove::cluster
