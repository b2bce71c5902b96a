#pragma once

#include <stop_token>
#include <string>
#include <thread>

#include "mangrove/base/file.h"

namespace mangrove::data::testing {

/// A port of 127.0.0.1 that accepts connections and, by itself, never answers.
class SilentServer {
 public:
  SilentServer();
  ~SilentServer();
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  int socket() const { return socket_; }
  /// "http://127.0.0.1:PORT"
  const std::string& url() const { return url_; }

 private:
  int socket_;
  std::string url_;
};

/// Serves the files of a folder over HTTP, one request at a time. Of a file whose path contains "cut" it sends only the
/// first half, then hangs up.
class HttpServer {
 public:
  explicit HttpServer(fs::path folder);

  const std::string& url() const { return port_.url(); }

 private:
  void serve(const std::stop_token& stop) const;
  void answer(int connection) const;

  fs::path folder_;
  SilentServer port_;
  std::jthread thread_;  // last: stopped and joined before the rest goes
};

}  // namespace mangrove::data::testing
