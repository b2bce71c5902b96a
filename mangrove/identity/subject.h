#pragma once

#include <string>
#include <string_view>

#include "mangrove/base/result.h"

namespace mangrove::identity {

/// The DNS name in the certificates of all servers of a cluster, for which clients ask, wherever the server is.
constexpr const char* kServerName = "mangrove";

/// What the owner of a certificate may do in a cluster.
enum class Role {
  coordinator,  // is the cluster's one coordinator
  node,         // runs the roles that jobs give it
  admin,        // everything that people may do: invites, revokes, and what clients do
  client,       // runs jobs
  viewer,       // looks
};
const char* role_name(Role role);  // "coordinator", ...
/// errors: invalid_argument (names the known ones).
Result<Role> parse_role(std::string_view text);

/// The owner of a certificate: role and name. They stand in the certificate as the URI mangrove://ROLE/NAME among its
/// alternative names.
struct Subject {
  Role role = Role::viewer;
  std::string name;

  std::string uri() const;
  bool operator==(const Subject&) const = default;
};

/// errors: invalid_argument (another scheme, an unknown role, a name that check_name() refuses).
Result<Subject> parse_subject(std::string_view uri);

/// Checks a name, which goes into certificates, logs, files and tables: 1 to 63 letters, digits, '.', '_' and '-',
/// beginning with a letter or a digit. errors: invalid_argument.
Status check_name(std::string_view name);

}  // namespace mangrove::identity
