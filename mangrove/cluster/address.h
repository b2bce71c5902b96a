#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"

namespace mangrove::cluster {

/// Where a process listens: "127.0.0.1:7070", "edge.local:7070", "[::1]:7070".
struct HostPort {
  std::string host;
  int port = 0;  // 0 .. 65535

  std::string to_string() const;
  /// Listens on every address of the machine: 0.0.0.0 or ::
  bool is_wildcard() const;
  /// Whether only this machine reaches the address: 127.*, ::1 or localhost.
  bool is_loopback() const;
};

/// errors: invalid_argument (quotes the text).
Result<HostPort> parse_host_port(std::string_view text);

/// The address of this machine from which packets to `peer` leave: how `peer` and its neighbours reach us. Sends
/// nothing. May ask the name service. errors: unavailable (unknown host, no route).
Result<std::string> local_host_towards(const HostPort& peer);

/// An address at which other machines probably reach this one now: that of the default route or, without one, that of
/// the first interface that is up and not the loopback. "127.0.0.1": there is no such interface.
std::string public_host();

/// Where others reach a server that listens on `address`: with public_host() in place of a wildcard. Another text than
/// an address is returned as it is.
std::string reachable(const std::string& address);

/// The index of the interface that has this numeric address. Nothing: none has it, as with 0.0.0.0.
std::optional<int> interface_of(const std::string& host);

/// Finds out by trying whether a server can listen there. errors: already_exists (port in use), invalid_argument (not
/// an address of this machine), permission_denied.
Status check_can_listen(const HostPort& address);

}  // namespace mangrove::cluster
