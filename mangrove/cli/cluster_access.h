#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/cluster/client.h"
#include "mangrove/identity/join_string.h"

namespace mangrove::cli {

/// How a person's command reaches a running cluster.
struct ClusterAccess {
  std::string coordinator = "127.0.0.1:7070";
  std::string identity = "";  // a file in place of the identities that the user has
  bool insecure = false;      // plain text will do on any address
};

/// Connects, with the user's identity of that cluster. errors: those of cluster::find_credentials() and
/// cluster::Client::connect().
Result<std::unique_ptr<cluster::Client>> connect_client(const ClusterAccess& access, const std::stop_token& stop);

/// From the string itself, a file that holds it, or standard input ("-"). errors: those of read_file() and
/// JoinString::parse().
Result<identity::JoinString> read_join_string(const std::string& text);

/// Says on standard error what --insecure means, where a process listens so on an address that others reach.
void warn_if_insecure(bool insecure, const std::string& address);

}  // namespace mangrove::cli
