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

/// What a process needs to know to find its credentials for a coordinator.
struct Access {
  std::string coordinator;              // HOST:PORT
  std::vector<identity::Role> roles{};  // roles that an identity may have, the best first
  std::string name{};                   // of the member, to choose among several identities; "": any
  fs::path identity{};                  // a PEM file to use in place of the user's identities; empty: those
  bool insecure = false;                // plain text is accepted, wherever the coordinator is
  bool searches = false;                // a join string's coordinator is looked for where it is not at its address
};

/// Looks at the certificates that the coordinator shows, and loads the user's identity of that cluster. An identity
/// that is due for renewal is renewed first. If a node has no identity but the user is an admin of the cluster, the
/// node is invited with the admin's identity and joins.
///
/// Null: links are in plain text, because the coordinator shows no certificates and either `insecure` is set, or the
/// coordinator is on this machine and no coordinator with certificates was ever seen at its port.
/// errors: unavailable (nobody answers), failed_precondition (there is no identity of the cluster: says how to get
/// one), permission_denied (plain text elsewhere; the one who answers is not the cluster's coordinator; the identity
/// has expired, or others may read its file), those of Identity::load().
Result<std::shared_ptr<const net::Credentials>> find_credentials(const Access& access,
                                                                 const identity::IdentityStore& store,
                                                                 Deadline deadline, const std::stop_token& stop);

/// A process that has joined, and the HOST:PORT of its coordinator.
struct Joined {
  std::shared_ptr<const net::Credentials> credentials;
  std::string coordinator;
};

/// Finds credentials for a process that has a join string. The first time the process joins with the string and keeps
/// its identity in the store; later it uses the identity that it got with this string. wished: the role and the name
/// that it asks for. If access.searches is set and the coordinator does not answer at access.coordinator, or that is
/// "", it is looked for on the local network, see call_or_search(). Who answers and has not proven to be it ends
/// nothing then. errors: those of find_credentials(), enrol(), call_or_search() and IdentityStore.
Result<Joined> join_or_find_credentials(const Access& access, const identity::JoinString& string,
                                        const identity::Subject& wished, const identity::IdentityStore& store,
                                        Deadline deadline, const std::stop_token& stop);

/// Loads credentials from one file, or from standard input ("-"), without looking at the user's identities.
/// errors: those of Identity::load() and Identity::check(); permission_denied (the identity has another role).
Result<std::shared_ptr<const net::Credentials>> load_credentials(const fs::path& file, identity::Role role);

}  // namespace mangrove::cluster
