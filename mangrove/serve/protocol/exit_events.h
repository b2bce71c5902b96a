#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "mangrove/base/clock.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/protocol/access_log.h"
#include "mangrove/serve/protocol/traffic.h"

namespace mangrove::serve {

/// Whether a client takes answers of a type ("text/event-stream"), by its header Accept: the type stands there by its
/// own name, and not with "q=0".
/// source: RFC 9110, section 12.5.1.
bool accepts(std::string_view accept, std::string_view type);

/// The answer of each exit of a network as a server-sent event: "exit" for each but the last, "answer" for the last
/// one, "error" where an exit could not be computed. Each is computed when it is asked for.
/// source: WHATWG, HTML, section "Server-sent events".
/// threads: one at a time.
class ExitEvents {
 public:
  struct Context {
    std::shared_ptr<Model> model;  // held until the end
    std::size_t top = 5;           // classes of an event
    std::shared_ptr<Traffic> traffic;
    AccessLog* access_log = nullptr;  // must outlive this; null: none
    AccessEntry entry;                // what is known of the request
  };
  ExitEvents(std::unique_ptr<ExitRun> run, Context context) : context_(std::move(context)), run_(std::move(run)) {}
  ExitEvents(const ExitEvents&) = delete;
  ExitEvents& operator=(const ExitEvents&) = delete;
  /// Writes the line of the access log; its status is 0 where nobody waited for the last event.
  ~ExitEvents();

  /// The next event; "": there is none any more. After a stop it is an error.
  std::string next(const std::stop_token& stop);

 private:
  std::string event_of(const ExitAnswer& answer);
  std::string fail(const Error& error);

  Context context_;
  std::unique_ptr<ExitRun> run_;  // null: it is over; last: it must not outlive the model
};

}  // namespace mangrove::serve
