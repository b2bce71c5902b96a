#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/cluster/client.h"
#include "mangrove/identity/join_string.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cli {

/// How a person's command reaches a running cluster.
struct ClusterAccess {
  std::string coordinator = "127.0.0.1:7070";
  std::string identity = "";  // a PEM file to use in place of the identities that the user has; "": those
  bool insecure = false;      // plain text is accepted at any address
};

/// The user's identity for the cluster; null: links are in plain text. errors: those of cluster::find_credentials().
Result<std::shared_ptr<const net::Credentials>> find_own_credentials(const ClusterAccess& access,
                                                                     const std::stop_token& stop);

/// Connects with the user's identity for the cluster. errors: those of find_own_credentials() and
/// cluster::Client::connect().
Result<std::unique_ptr<cluster::Client>> connect_client(const ClusterAccess& access, const std::stop_token& stop);

/// Takes a join string, the name of a file that holds one, or "-" for standard input.
/// errors: those of read_file() and JoinString::parse().
Result<identity::JoinString> read_join_string(const std::string& text);

/// Warns on standard error what --insecure means, if `address`, where the process listens, can be reached by others.
void warn_if_insecure(bool insecure, const std::string& address);

}  // namespace mangrove::cli
