#pragma once

#include <atomic>

#include "mangrove/base/units.h"

namespace mangrove::serve {

/// What a server of HTTP allows its clients.
struct HttpLimits {
  Bytes max_request = 64'000'000;        // of a body
  Bytes room = 256'000'000;              // of all bodies that are there at once
  Bytes max_headers = KiB(16);           // of the request line and the headers together
  int max_connections = 256;             // each has a thread; more are refused, unless an idle one can be closed
  Seconds handshake_within = 10;         // of TLS
  Seconds receive_within = 60;           // a request, from its first byte to its last
  Seconds send_within = 60;              // an answer, from its first byte to its last
  Seconds idle_for = 60;                 // a connection without a request
  int requests_per_connection = 10'000;  // then the client must connect anew
};

/// The memory of all bodies that are there at once. threads: any thread may call any method.
class BodyRoom {
 public:
  explicit BodyRoom(Bytes limit) : limit_(limit) {}

  /// A body's share of the room; given back with the object.
  class Share {
   public:
    explicit Share(BodyRoom& room) : room_(room) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { room_.taken_ -= bytes_; }
    /// Whether there is room for so many bytes more.
    bool grow(Bytes bytes) {
      bytes_ += bytes;
      return (room_.taken_ += bytes) <= room_.limit_;
    }

   private:
    BodyRoom& room_;
    Bytes bytes_ = 0;
  };

 private:
  const Bytes limit_;
  std::atomic<Bytes> taken_ = 0;
};

}  // namespace mangrove::serve
