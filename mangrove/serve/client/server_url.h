#pragma once

#include <string>
#include <string_view>

#include "mangrove/base/result.h"

namespace mangrove::serve {

/// Where a server of HTTP is.
struct ServerUrl {
  bool has_tls = false;  // https
  std::string host;
  int port = 0;

  std::string to_string() const;
};

/// "http://HOST[:PORT]" or "https://HOST[:PORT]", perhaps with a "/" at the end. errors: invalid_argument (quotes it).
Result<ServerUrl> parse_server_url(std::string_view text);

}  // namespace mangrove::serve
