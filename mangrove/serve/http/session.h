#pragma once

#include <functional>
#include <stop_token>

#include "mangrove/serve/http/connection.h"
#include "mangrove/serve/http/limits.h"
#include "mangrove/serve/http/message.h"

namespace mangrove::serve {

/// What the requests of one connection need of their server, which must outlive them.
struct SessionContext {
  HttpHandler& handler;
  const HttpLimits& limits;
  BodyRoom& room;
  std::function<void(bool is_idle)> on_idle;  // true: the connection waits for a request
  std::function<bool()> is_closing;           // the server takes no more requests
  std::stop_token stop;                       // answers are not waited for any longer
};

/// Answers the requests of a connection, one after the other, until the client or the server ends it.
void serve_requests(Connection& connection, const SessionContext& context);

}  // namespace mangrove::serve
