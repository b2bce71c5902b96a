#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/certificate.h"

namespace mangrove::identity {

/// The certificates that a server shows, its own first, which are not checked here and prove nothing yet: to see which
/// cluster it says it is of, before anything is said to it. Nothing: it answers, and speaks no TLS 1.3.
/// address: HOST:PORT. It is tried again and again until it answers.
/// errors: unavailable (nobody answers by the deadline), cancelled (stop was requested).
Result<std::optional<std::vector<Certificate>>> peek_certificates(const std::string& address, Deadline deadline,
                                                                  const std::stop_token& stop);

}  // namespace mangrove::identity
