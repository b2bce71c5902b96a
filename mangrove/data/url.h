#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "mangrove/base/result.h"
#include "mangrove/base/units.h"

namespace mangrove::data {

struct UrlOptions {
  Seconds connect_timeout = 5;  // name look-up and connection together
  Seconds stall_timeout =
      10;  // without at least 1 kB/s for so long, whole seconds; more suits a link that comes and goes
  Bytes max_bytes = GiB(1);  // a longer answer is refused
};

/// The content behind an http, https or file URL; redirections are followed. Every wait is bounded by the timeouts.
/// received  told the bytes so far, now and then.
/// errors    unavailable: no answer, or not a good one; data_loss: longer than max_bytes; cancelled: `stop` was
///           requested. Messages are the reason only ("Could not resolve host: ..."), without the URL.
Result<std::string> read_url(const std::string& url, const UrlOptions& options,
                             const std::function<void(Bytes)>& received, std::stop_token stop);

/// "storage.googleapis.com" of "https://storage.googleapis.com/x": how a mirror is called in messages. The whole URL
/// where it names no host.
std::string url_host(const std::string& url);

}  // namespace mangrove::data
