#pragma once

#include <memory>
#include <string>

#include "mangrove/identity/authority.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cluster {

/// The authority of all clusters of this test program.
inline const identity::Authority& test_authority() {
  static const identity::Authority authority = identity::Authority::make(identity::wall_now());
  return authority;
}

inline std::shared_ptr<const net::Credentials> test_credentials(identity::Role role, const std::string& name) {
  return net::Credentials::of(identity::Identity::make(test_authority(), {role, name}, identity::wall_now()));
}

}  // namespace mangrove::cluster
