#pragma once

namespace mangrove::net {

/// For server_credentials(), in place of the one call that strangers may make: clients without a certificate may make
/// every call. The services must then ask for another proof, such as a token. A certificate that a client shows must be
/// valid in any case.
constexpr const char* kEveryCall = "*";

}  // namespace mangrove::net
