#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/certificate.h"
#include "mangrove/identity/identity.h"
#include "mangrove/identity/join_string.h"
#include "mangrove/net/credentials.h"

namespace mangrove::cluster {

/// The metadata key of a request without a certificate, see enrolment.proto.
constexpr const char* kEnrolMetadata = "mangrove-enrol-bin";

/// Joins the cluster of a join string: checks that the server has a certificate of the string's authority, only then
/// sends it the secret, and gets a certificate for `key`, which stays here. Asking again with the same key does not use
/// the string up.
/// wished: the coordinator may add a number to the name. A person asks as `client` and gets the role of the invitation.
/// errors: unavailable (nobody answers), invalid_argument (the string has no address), permission_denied (another
/// cluster answers, or the coordinator refuses: says why).
Result<identity::Identity> enrol(const identity::JoinString& string, const identity::Subject& wished, Deadline deadline,
                                 const std::stop_token& stop,
                                 const identity::PrivateKey& key = identity::PrivateKey::make());

/// Does as enrol() does, and takes what the server at the string's address has shown: see
/// identity::peek_certificates(). errors: those of enrol(). Who shows what the coordinator has shown, and is not it, is
/// `unavailable`.
Result<identity::Identity> enrol_at(const identity::JoinString& string,
                                    const std::optional<std::vector<identity::Certificate>>& shown,
                                    const identity::Subject& wished, const std::stop_token& stop,
                                    const identity::PrivateKey& key);

/// Makes a new key for a member, and gets a new certificate for it. own: the member's valid credentials.
/// errors: unavailable, permission_denied (revoked), failed_precondition (this coordinator signs no certificates, or
/// the present one is too young), resource_exhausted (too many within a day).
Result<identity::Identity> renew(const std::string& coordinator, const net::Credentials& own);

}  // namespace mangrove::cluster
