#pragma once

#include <memory>

#include "mangrove/cluster/registrar.h"
#include "mangrove/identity/store.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cluster {

/// What a coordinator that signs its members' certificates shows: an identity in the registrar's folder, made or
/// renewed where that is due. Besides, the user who runs it becomes an admin: `store` gets that identity, if it has
/// none that is good, and the registrar hears where it is. errors: those of the registrar and of files; that the
/// admin's cannot be kept is logged.
Result<std::shared_ptr<const net::Credentials>> coordinator_credentials(Registrar& registrar,
                                                                        const identity::IdentityStore& store,
                                                                        identity::WallTime now);

}  // namespace mangrove::cluster
