#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"

namespace mangrove::sensors {

/// SCHEME://HOST:PORT/PATH. The host of an IPv6 address stands in brackets, which are not part of `host`.
struct Url {
  std::string scheme, host;
  int port = 0;
  std::string path;  // without the slash in front

  /// Whether only this machine reaches the host: 127.*, ::1 or localhost.
  bool is_loopback() const;
};

/// A scheme and the port of an address that has none.
struct Scheme {
  const char* name;
  int port;
};

/// Whether both lead to the same port of the same host, as far as names tell: hosts differ in letters but not in case,
/// and all loopback addresses are one.
bool is_same_peer(const Url& a, const Url& b);

/// errors: invalid_argument: names the url and what was expected.
Result<Url> parse_url(std::string_view text, const std::vector<Scheme>& schemes);

}  // namespace mangrove::sensors
