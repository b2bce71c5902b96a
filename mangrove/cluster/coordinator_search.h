#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/certificate.h"

namespace mangrove::cluster {

/// The hashes of these authorities, as search_coordinator() takes them.
std::vector<std::string> hashes_of(const std::vector<identity::Certificate>& authorities);

/// Looks on the local network for the coordinator of a cluster with one of these authorities, until the deadline, and
/// returns its HOST:PORT. Anybody can announce himself as this coordinator: only an address is returned at which a
/// coordinator's certificate of such an authority is shown and proven. The others are told nothing.
/// At most 32 addresses are looked at, all at once.
/// errors: unavailable (there is none, or it did not answer in time), those of listen_for_coordinators(), cancelled.
Result<std::string> search_coordinator(const std::vector<std::string>& authority_hashes, Deadline deadline,
                                       const std::stop_token& stop);

/// Does something with the coordinator at an address. errors: unavailable (nobody answers there), others.
using CoordinatorCall = std::function<Status(const std::string& address, Deadline deadline)>;

/// Calls the coordinator at `address` and, while nobody answers there, at the address that search_coordinator() finds.
/// A search takes 3 s. There is one after the first 3 s, and then one a minute. address: "" if none is known.
/// errors: those of `call`; unavailable says what was tried.
Status call_or_search(const std::string& address, const std::vector<std::string>& authority_hashes, Deadline deadline,
                      const std::stop_token& stop, const CoordinatorCall& call);

}  // namespace mangrove::cluster
