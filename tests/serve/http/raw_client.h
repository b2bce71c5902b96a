#pragma once

#include <openssl/ssl.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tests/net/tcp.h"

#include "mangrove/base/units.h"
#include "mangrove/identity/identity.h"

namespace mangrove::serve {

/// What a server has answered.
struct RawReply {
  int status = 0;                              // 0: nothing came, or no HTTP
  std::map<std::string, std::string> headers;  // names in small letters
  std::string body;
};

/// A client that sends what a test has written by hand. threads: one at a time.
class RawClient {
 public:
  /// A connection in plain text. Nothing is sent before the first send().
  explicit RawClient(int port);
  /// Of TLS: trusts the authorities of `trusted`, and shows the certificate of `own`; null: none.
  RawClient(int port, const identity::Identity& trusted, const identity::Identity* own);

  /// Whether the connection, and its handshake, came about.
  bool is_open() const { return is_open_; }
  void send(std::string_view bytes);
  /// The next answer, its body as long as Content-Length says. A minute of silence is no answer.
  RawReply reply(bool has_body = true);
  /// The next piece of an answer in pieces (Transfer-Encoding: chunked); "": its end, or nothing came within a minute.
  std::string piece();
  /// Whether the server hangs up within a minute, with nothing before.
  bool is_closed();

 private:
  struct FreeSsl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  /// Appends what comes to received_. false: the end.
  bool receive();

  net::Socket socket_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  bool is_open_ = false;
  std::string received_;
};

/// A request with a body and its length.
std::string post(const std::string& path, const std::string& body, const std::string& more_headers = "");
std::string get(const std::string& path, const std::string& more_headers = "");

}  // namespace mangrove::serve
