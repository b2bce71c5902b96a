#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
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

/// Who is at the other end of a connection.
enum class Peer { client, server };

/// A connection with a client, or with a server: TCP, or TLS over it. Each call waits no longer than its deadline,
/// whatever the other end does. threads: one at a time.
class Connection {
 public:
  /// socket: does not block. tls: null for plain text.
  Connection(Descriptor socket, TlsSession tls, Peer peer = Peer::client);

  /// Of TLS. errors: deadline_exceeded; unavailable (the other end has hung up, or the handshake failed);
  /// permission_denied (the certificate of a server is not trusted; says why).
  Status shake_hands(Deadline deadline);
  /// Bytes that have come, at least one. 0: the other end has ended. errors: deadline_exceeded, unavailable.
  Result<std::size_t> read(std::span<char> into, Deadline deadline);
  /// All of them. errors: deadline_exceeded, unavailable.
  Status write(std::string_view bytes, Deadline deadline);
  /// Says that nothing more comes, and reads what the other end still sends until it hangs up: else the system could
  /// throw away what was written last.
  void finish(Deadline deadline);

  int descriptor() const { return socket_.number(); }
  /// Address and port of the other end, in numbers: "10.0.0.7:51234", "[::1]:51234"; "": it is gone.
  std::string other_end() const;
  const std::optional<identity::Subject>& member() const { return member_; }
  /// Whether bytes, or the end, have come that nobody has asked for: then a server has given the connection up.
  bool has_ended() const;

 private:
  Error gone() const;
  Error too_slow() const;
  Status wait_for(short events, Deadline deadline) const;
  Status wait_for_tls(int result, Deadline deadline) const;
  Result<std::size_t> read_plain(std::span<char> into, Deadline deadline) const;
  Result<std::size_t> read_tls(std::span<char> into, Deadline deadline) const;
  Result<std::size_t> write_some(std::string_view bytes, Deadline deadline) const;

  const Descriptor socket_;
  const TlsSession tls_;
  const Peer peer_;
  std::optional<identity::Subject> member_;
};

}  // namespace mangrove::serve
