#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/identity/subject.h"
#include "mangrove/serve/http/tls.h"

namespace mangrove::serve {

/// A file descriptor that is closed with the object.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int number() const { return number_; }

 private:
  int number_;
};

/// A connection with a client: TCP, or TLS over it. Each call waits no longer than its deadline, whatever the client
/// does. threads: one at a time.
class Connection {
 public:
  /// socket: does not block. tls: null for plain text.
  Connection(Descriptor socket, TlsSession tls);

  /// Of TLS. errors: deadline_exceeded, unavailable (the client has hung up, or the handshake failed).
  Status shake_hands(Deadline deadline);
  /// Bytes that have come, at least one. 0: the client has ended. errors: deadline_exceeded, unavailable.
  Result<std::size_t> read(std::span<char> into, Deadline deadline);
  /// All of them. errors: deadline_exceeded, unavailable.
  Status write(std::string_view bytes, Deadline deadline);
  /// Says that nothing more comes, and reads what the client still sends until it hangs up: else the system could
  /// throw away what was written last.
  void finish(Deadline deadline);

  int descriptor() const { return socket_.number(); }
  const std::optional<identity::Subject>& member() const { return member_; }

 private:
  Status wait_for(short events, Deadline deadline) const;
  Status wait_for_tls(int result, Deadline deadline) const;
  Result<std::size_t> read_plain(std::span<char> into, Deadline deadline) const;
  Result<std::size_t> read_tls(std::span<char> into, Deadline deadline) const;
  Result<std::size_t> write_some(std::string_view bytes, Deadline deadline) const;

  const Descriptor socket_;
  const TlsSession tls_;
  std::optional<identity::Subject> member_;
};

}  // namespace mangrove::serve
