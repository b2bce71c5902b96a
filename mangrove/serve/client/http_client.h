#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/serve/client/server_url.h"
#include "mangrove/serve/client/tls_client.h"
#include "mangrove/serve/http/connection.h"

namespace mangrove::serve {

/// A call of HTTP.
struct HttpCall {
  std::string method = "GET";
  std::string target = {};  // "/v2/models/m/infer", with percent signs where they are needed
  std::string content_type = "application/json";
  std::string body = {};
  std::optional<std::size_t> json_length = {};  // for the header Inference-Header-Content-Length
  bool is_idempotent = true;                    // twice is as good as once; else it changes something
};

/// What a server has answered, whatever its status.
struct HttpReply {
  int status = 0;
  std::string body;
  std::optional<std::string> json_length;  // the header Inference-Header-Content-Length
  std::optional<Seconds> retry_after;      // when the server says that the call may be repeated
};

/// One connection with a server, kept from call to call. Answers come from anybody: their headers have at most 16 KiB
/// and their bodies at most the bytes that the caller allows, however the server sends them, and each call has a
/// deadline. Redirections are not followed: they come back as what they are.
/// threads: one at a time.
class HttpClient {
 public:
  /// tls: null for plain text. token: of the header Authorization; "": none.
  HttpClient(ServerUrl url, std::shared_ptr<const TlsClient> tls, std::string token)
      : url_(std::move(url)), tls_(std::move(tls)), token_(std::move(token)) {}

  /// Connects if there is no connection. A connection that the server has closed since the last call is opened anew.
  /// errors: unavailable (unknown host, nobody listens, the server hangs up); deadline_exceeded; permission_denied (the
  /// server's certificate); resource_exhausted (the body is longer than most_body); data_loss (what comes is no HTTP).
  /// All name the server.
  Result<HttpReply> call(const HttpCall& call, Bytes most_body, Deadline deadline);
  /// Whether the last call found a connection: then the server may have carried it out, even where no answer came.
  bool has_reached() const { return has_reached_; }

 private:
  Status connect(Deadline deadline);
  Result<HttpReply> exchange(const HttpCall& call, Bytes most_body, Deadline deadline);

  const ServerUrl url_;
  const std::shared_ptr<const TlsClient> tls_;
  const std::string token_;
  std::unique_ptr<Connection> connection_;
  bool has_reached_ = false;
};

}  // namespace mangrove::serve
