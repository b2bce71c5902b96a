#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/certificate.h"

namespace mangrove::cluster {

/// The hashes of these authorities, as search_coordinator() takes them.
std::vector<std::string> hashes_of(const std::vector<identity::Certificate>& authorities);

/// Checks that a server that shows these certificates (nothing: it speaks no TLS) is the coordinator of a cluster with
/// one of these authorities. errors: permission_denied (says what it is, or why its certificate is not valid).
Status check_coordinator(const std::optional<std::vector<identity::Certificate>>& shown,
                         const std::vector<std::string>& authority_hashes, identity::WallTime now);

/// Looks on the local network for the coordinator of a cluster with one of these authorities, until the deadline, and
/// returns its HOST:PORT. Anybody can announce himself as this coordinator: only an address is returned at which a
/// coordinator's certificate of such an authority is shown and proven. The others are told nothing.
/// At most 32 addresses are looked at, all at once, and each once.
/// errors: unavailable (there is none, or it did not answer in time), those of listen_for_coordinators(), cancelled.
Result<std::string> search_coordinator(const std::vector<std::string>& authority_hashes, Deadline deadline,
                                       const std::stop_token& stop);

/// Does something with the coordinator at an address.
/// errors: unavailable (nobody answers there, or somebody who has not proven to be the coordinator); others come from
/// the coordinator itself, or from this machine.
using CoordinatorCall = std::function<Status(const std::string& address, Deadline deadline)>;

/// Calls the coordinator at `address` and, while it does not answer there, at the address that search_coordinator()
/// finds. A search takes 3 s. There is one after the first 3 s, or as soon as somebody else answers, and then one a
/// minute. address: "" if none is known. authority_hashes: as search_coordinator() takes them.
/// errors: those of `call`, but unavailable only at the deadline: says what was tried, and why there was no search.
Status call_or_search(const std::string& address, const std::vector<std::string>& authority_hashes, Deadline deadline,
                      const std::stop_token& stop, const CoordinatorCall& call);

}  // namespace mangrove::cluster
