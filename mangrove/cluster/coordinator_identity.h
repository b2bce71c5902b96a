#pragma once

#include <memory>

#include "mangrove/cluster/registrar.h"
#include "mangrove/identity/store.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cluster {

/// The credentials of a coordinator that signs its members' certificates. Its identity is kept in the registrar's
/// folder, and is made or renewed here if that is due. The user who runs the coordinator becomes an admin: if `store`
/// has no valid identity of an admin, it gets one, and the registrar is told the file.
/// errors: those of the registrar and of files. A failure to keep the admin's identity is only logged.
Result<std::shared_ptr<const net::Credentials>> coordinator_credentials(Registrar& registrar,
                                                                        const identity::IdentityStore& store,
                                                                        identity::WallTime now);

}  // namespace mangrove::cluster
