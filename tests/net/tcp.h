#pragma once

#include <string_view>
#include <utility>

namespace mangrove::net {

/// A file descriptor of a socket.
class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();

  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// Listens on a port of 127.0.0.1 that the system chooses.
Socket listen_locally();
int port_of(const Socket& listener);
Socket connect_locally(int port);
/// Writes all of it, or as much as the other side takes before it hangs up.
void write_all(const Socket& socket, std::string_view bytes);

}  // namespace mangrove::net
