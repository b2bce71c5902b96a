#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/certificate.h"

namespace mangrove::identity {

/// Asks a server once for the certificates that it shows, its own first, to see which cluster it says it is of before
/// anything is sent to it. They are not checked here and prove nothing yet. Nothing: the server answers, but does not
/// speak TLS 1.3. address: HOST:PORT.
/// errors: unavailable (nobody answers by the deadline), cancelled (stop was requested).
Result<std::optional<std::vector<Certificate>>> peek_once(const std::string& address, Deadline deadline,
                                                          const std::stop_token& stop);

/// Does as peek_once() does, and tries again and again until somebody answers. errors: those of peek_once().
Result<std::optional<std::vector<Certificate>>> peek_certificates(const std::string& address, Deadline deadline,
                                                                  const std::stop_token& stop);

}  // namespace mangrove::identity
