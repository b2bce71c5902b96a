#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mangrove/base/clock.h"
#include "mangrove/identity/subject.h"

namespace mangrove::serve {

/// What a request says before its body.
struct HttpHead {
  std::string method;                                  // "GET", "POST", ...; HEAD comes as GET
  std::string target;                                  // as it was sent: "/v2/models/a%20b?k=5"
  std::optional<std::string> inference_header_length;  // Inference-Header-Content-Length
  std::string authorization;                           // "": none
  std::string accept;                                  // "": none
  std::string traceparent;                             // "": none came, or more than one
  bool takes_pieces = true;                            // HTTP/1.1: an answer may be a stream
  std::optional<identity::Subject> member;             // of the certificate that the client has proven; nothing: none
  std::string from;                                    // address of the client: "10.0.0.7:51234"; "": it is gone
  Instant came;                                        // its first byte
};

struct HttpRequest {
  HttpHead head;
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  /// The answer piece by piece, in place of `body`; nothing: `body` is all of it. Each piece is sent as soon as it is
  /// there; "" ends the answer. A call may wait for what there is to tell, but not after a stop is requested, and must
  /// come back with a piece now and then: that is how the server sees that the client has hung up.
  std::function<std::string(const std::stop_token& stop)> stream = {};
  bool is_endless = false;  // `stream`: a server that closes does not wait for its end
};

/// Answers requests. threads: any thread may call any method.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  /// Looks at a request before its body is read. Nothing: go on; else the answer, and the body is not read.
  virtual std::optional<HttpResponse> refuse(const HttpHead& head) const = 0;
  /// Answers a request that was not refused. May wait, but not after a stop is requested.
  virtual HttpResponse answer(HttpRequest request, const std::stop_token& stop) = 0;
  /// The answer to a request that the server itself refuses: with this status, and a sentence for a person. head:
  /// what is known of the request; without a method, its headers could not be read.
  virtual HttpResponse error(const HttpHead& head, int status, const std::string& message) const = 0;
};

}  // namespace mangrove::serve
