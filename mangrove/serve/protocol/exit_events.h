#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "mangrove/base/clock.h"
#include "mangrove/serve/model.h"
#include "mangrove/serve/protocol/access_log.h"
#include "mangrove/serve/protocol/traffic.h"

namespace mangrove::serve {

constexpr const char* kEventStream = "text/event-stream";

/// Whether a client asks for events, by its header Accept.
bool accepts_events(std::string_view accept);

/// The answer of each exit of a network as a server-sent event: "exit" for each but the last, "answer" for the last
/// one, "error" where an exit could not be computed. Each is computed when it is asked for.
/// source: WHATWG, HTML, section "Server-sent events".
/// threads: one at a time.
class ExitEvents {
 public:
  struct Context {
    std::shared_ptr<Model> model;  // held until the end
    std::size_t top = 5;           // classes of an event
    Instant came = {};             // the request
    std::shared_ptr<Traffic> traffic;
    AccessLog* access_log = nullptr;  // must outlive this; null: none
    AccessEntry entry;                // what is known of the request
  };
  ExitEvents(std::unique_ptr<ExitRun> run, Context context) : run_(std::move(run)), context_(std::move(context)) {}
  ExitEvents(const ExitEvents&) = delete;
  ExitEvents& operator=(const ExitEvents&) = delete;
  /// Writes the line of the access log; its status is 0 where nobody waited for the last event.
  ~ExitEvents();

  /// The next event; "": there is none any more.
  std::string next();

 private:
  std::string event_of(const ExitAnswer& answer);
  std::string fail(const Error& error);

  std::unique_ptr<ExitRun> run_;  // null: it is over
  Context context_;
};

}  // namespace mangrove::serve
