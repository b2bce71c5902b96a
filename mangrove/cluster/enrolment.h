#pragma once

#include <stop_token>
#include <string>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/identity.h"
#include "mangrove/identity/join_string.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cluster {

/// Where the request of somebody without a certificate is, see enrolment.proto.
constexpr const char* kEnrolMetadata = "mangrove-enrol-bin";

/// Joins the cluster of a join string: looks whether who answers is of its authority, and only then shows it the
/// secret; has its key signed, which stays here. wished: its name may get a number; people that join as `client` become
/// what the invitation says. Who asks again with the same key does not use the string up. errors: unavailable (nobody
/// answers), invalid_argument (neither the string nor `address` says where), permission_denied (another cluster, or the
/// coordinator refuses: says why).
Result<identity::Identity> enrol(const identity::JoinString& string, const identity::Subject& wished, Deadline deadline,
                                 const std::stop_token& stop,
                                 const identity::PrivateKey& key = identity::PrivateKey::make());

/// A new key and a new certificate for who has a good one. errors: unavailable, permission_denied (revoked),
/// failed_precondition (this coordinator signs nobody).
Result<identity::Identity> renew(const std::string& coordinator, const net::Credentials& own);

}  // namespace mangrove::cluster
