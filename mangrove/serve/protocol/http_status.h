#pragma once

#include <string>

#include "mangrove/base/result.h"
#include "mangrove/serve/http/message.h"

namespace mangrove::serve {

/// The status of HTTP for an error.
int http_status(Code code);

/// {"error": "..."}. Where the client may try again soon, the header Retry-After says so (429, 503).
HttpResponse error_response(int status, const std::string& message);
HttpResponse error_response(const Error& error);

}  // namespace mangrove::serve
