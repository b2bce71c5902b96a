#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/file.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/join_string.h"
#include "mangrove/identity/store.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cluster {

/// How a process comes to the credentials for a coordinator.
struct Access {
  std::string coordinator;              // HOST:PORT
  std::vector<identity::Role> roles{};  // that it may have, the best first
  std::string name{};                   // which of several identities; "": any
  fs::path identity{};                  // a file in place of the identities that the user has; empty: those
  bool insecure = false;                // plain text will do, wherever the coordinator is
};

/// Asks the coordinator for its certificates, and takes the identity that is of the same cluster. One that is due is
/// renewed first. A node that has none, of a user who is an admin of the cluster, is invited by him on the way.
/// Null: the coordinator speaks plain text, and is on this machine, where none with certificates was seen at its port,
/// or `insecure`. errors: unavailable (nobody answers), failed_precondition (there is no identity of its cluster: says
/// how to get one), permission_denied (plain text elsewhere; the coordinator is not what it should be; the identity has
/// expired, or its file may be read by others), those of Identity::load().
Result<std::shared_ptr<const net::Credentials>> find_credentials(const Access& access,
                                                                 const identity::IdentityStore& store,
                                                                 Deadline deadline, const std::stop_token& stop);

/// The same for somebody who has a join string: the first time it joins with it, and keeps the identity; later it takes
/// what it has from this string. `wished` is whom it wants to be.
/// errors: besides, those of enrol() and IdentityStore::save().
Result<std::shared_ptr<const net::Credentials>> join_or_find_credentials(
    const Access& access, const identity::JoinString& string, const identity::Subject& wished,
    const identity::IdentityStore& store, Deadline deadline, const std::stop_token& stop);

/// The only identity there is: of a file, or of standard input ("-").
/// errors: those of Identity::load() and Identity::check(); permission_denied (it is another role's).
Result<std::shared_ptr<const net::Credentials>> load_credentials(const fs::path& file, identity::Role role);

}  // namespace mangrove::cluster
