#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/net/tcp.h"

namespace mangrove::serve {

/// Sends what a test has written, whatever it is asked: a text to each connection, the last one to all that follow.
class ScriptedServer {
 public:
  /// hangs_up: after a text; else the connection stays until the server ends.
  explicit ScriptedServer(std::vector<std::string> texts, bool hangs_up = true);
  ~ScriptedServer();
  int port() const { return net::port_of(listener_); }
  /// How many requests have come.
  int asked() const { return asked_; }

 private:
  void serve();
  const std::vector<std::string> texts_;
  const bool hangs_up_;
  net::Socket listener_;
  std::atomic<bool> ends_ = false;
  std::atomic<int> asked_ = 0;
  std::vector<net::Socket> held_;
  std::jthread thread_;
};

}  // namespace mangrove::serve
