#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/base/temporary_folder.h"
#include "tests/cluster/test_cluster.h"

#include "mangrove/cluster/access.h"
#include "mangrove/cluster/coordinator_identity.h"
#include "mangrove/cluster/enrolment.h"
#include "mangrove/cluster/registrar.h"
#include "mangrove/identity/store.h"

namespace mangrove::cluster {

inline Deadline soon() {
  return SteadyClock().after(20);
}

/// A coordinator with an authority and books of its own, and its admin.
struct SecureCluster : ::testing::Test {
  SecureCluster() : registrar(std::move(*Registrar::open(folder / "state", identity::wall_now()))) {
    options.listen = "127.0.0.1:0";
    options.heartbeat_interval = TestCluster::kHeartbeat;
    options.registrar = registrar.get();
    options.credentials = *coordinator_credentials(*registrar, admins, identity::wall_now());
    start();
  }
  void start() {
    auto started = Coordinator::start(options);
    ASSERT_TRUE(started.ok()) << started.error().message;
    coordinator = std::move(*started);
    options.listen = coordinator->address();
  }
  Result<std::unique_ptr<Client>> connect(const identity::IdentityStore& store,
                                          const std::vector<identity::Role>& roles) const {
    MG_TRY(auto credentials,
           find_credentials({.coordinator = coordinator->address(), .roles = roles}, store, soon(), {}));
    return Client::connect(coordinator->address(), std::move(credentials));
  }
  identity::Identity admin_identity() const {
    return admins.of_authority(registrar->authority().certificate().hash())->at(0).identity;
  }
  std::unique_ptr<Client> admin() const { return std::move(*connect(admins, {identity::Role::admin})); }
  identity::JoinString invite(const std::string& role, const std::string& name = "") const {
    InviteRequest request;
    request.set_role(role);
    request.set_name(name);
    request.set_ttl_s(600);
    request.set_uses(1);
    return *identity::JoinString::parse(admin()->invite(request)->join_string());
  }
  /// Joins, and keeps the identity in a store of its own.
  Result<std::shared_ptr<const net::Credentials>> join(const identity::JoinString& string,
                                                       const identity::Subject& wished) const {
    const std::vector<identity::Role> roles =
        wished.role == identity::Role::node
            ? std::vector{identity::Role::node}
            : std::vector{identity::Role::admin, identity::Role::client, identity::Role::viewer};
    MG_TRY(Joined joined, join_or_find_credentials({.coordinator = string.address, .roles = roles}, string, wished,
                                                   members, soon(), {}));
    return joined.credentials;
  }
  Result<std::unique_ptr<Node>> start_node(std::shared_ptr<const net::Credentials> credentials,
                                           RoleMain play = scripted_role) const {
    NodeOptions node;
    node.coordinator = coordinator->address();
    node.name = "calls itself so";
    node.listen = "127.0.0.1:0";
    node.threads = 1;
    node.credentials = std::move(credentials);
    node.join_timeout = 10;
    node.play = std::move(play);
    return Node::start(node);
  }
  /// The id of the job that came last and has not ended; "": there is none.
  std::string last_job() const {
    const auto status = admin()->status({});
    return status.ok() && status->jobs_size() > 0 ? status->jobs().rbegin()->id() : "";
  }
  /// See states_of().
  std::string listing() const { return states_of(*admin()->nodes()); }

  testing::TemporaryFolder folder;
  const identity::IdentityStore admins{folder / "admins"}, members{folder / "members"};
  std::unique_ptr<Registrar> registrar;
  CoordinatorOptions options;
  std::unique_ptr<Coordinator> coordinator;
};

}  // namespace mangrove::cluster
