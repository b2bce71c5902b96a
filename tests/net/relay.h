#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <thread>

#include "tests/net/tcp.h"

namespace mangrove::net {

/// A TCP line between two processes that can be cut or frozen.
class Relay {
 public:
  explicit Relay(int target_port);
  ~Relay();

  int port() const { return port_; }
  /// Hangs up, once, when this many bytes more have gone towards the target.
  void cut_after(std::int64_t bytes) { bytes_to_cut_ = bytes; }
  int cuts() const { return cuts_; }
  /// Keeps the connections open, moves nothing and takes no others, until it thaws.
  void freeze() { frozen_ = true; }
  void thaw() { frozen_ = false; }
  /// Connections that it has taken so far.
  int taken() const { return taken_; }

 private:
  struct Line {
    Socket client;
    Socket target;
  };

  void run(const std::stop_token& stop);
  void accept_line();
  /// Moves what there is, in both directions. False when the line has ended.
  bool move(Line& line);
  bool move(const Socket& from, const Socket& to, bool towards_target);

  const int target_port_;
  const Socket listener_;
  const int port_;
  std::atomic<std::int64_t> bytes_to_cut_ = -1;  // negative: never
  std::atomic<int> cuts_ = 0;
  std::atomic<bool> frozen_ = false;
  std::atomic<int> taken_ = 0;
  std::list<Line> lines_;  // of the thread
  std::jthread thread_;
};

}  // namespace mangrove::net
