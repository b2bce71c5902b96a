#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "mangrove/base/check.h"

namespace mangrove::cluster {

/// Passes connections on to ports of this machine: the n-th to the n-th port, and further ones to the last.
class Relay {
 public:
  explicit Relay(std::vector<int> ports) : ports_(std::move(ports)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in here = at(0);
    socklen_t size = sizeof here;
    MG_CHECK(::bind(listener_, reinterpret_cast<const sockaddr*>(&here), size) == 0);
    MG_CHECK(::listen(listener_, 8) == 0);
    MG_CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&here), &size) == 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(here.sin_port));
    accepting_ = std::jthread([this](const std::stop_token& stop) { accept_all(stop); });
  }
  ~Relay() {
    accepting_ = {};
    ::close(listener_);
  }
  Relay(const Relay&) = delete;

  const std::string& address() const { return address_; }

 private:
  static constexpr int kLookEveryMs = 20;

  static sockaddr_in at(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  void accept_all(const std::stop_token& stop) {
    std::list<std::jthread> lines;
    while (!stop.stop_requested()) {
      pollfd waiting{listener_, POLLIN, 0};
      if (::poll(&waiting, 1, kLookEveryMs) <= 0) continue;
      const int near = ::accept(listener_, nullptr, nullptr), far = ::socket(AF_INET, SOCK_STREAM, 0);
      const sockaddr_in there = at(ports_.at(std::min(lines.size(), ports_.size() - 1)));
      MG_CHECK(::connect(far, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0);
      lines.emplace_back([near, far](const std::stop_token& over) { pass(near, far, over); });
    }
  }
  static void pass(int near, int far, const std::stop_token& stop) {
    std::array<char, 4096> bytes{};
    for (bool is_open = true; is_open && !stop.stop_requested();) {
      std::array<pollfd, 2> ends{pollfd{near, POLLIN, 0}, pollfd{far, POLLIN, 0}};
      if (::poll(ends.data(), ends.size(), kLookEveryMs) <= 0) continue;
      for (std::size_t i = 0; i < 2 && is_open; ++i) {
        if (ends.at(i).revents == 0) continue;
        const ssize_t count = ::recv(ends.at(i).fd, bytes.data(), bytes.size(), 0);
        is_open = count > 0 &&
                  ::send(ends.at(1 - i).fd, bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) == count;
      }
    }
    ::close(near);
    ::close(far);
  }

  const std::vector<int> ports_;
  const int listener_;
  std::string address_;
  std::jthread accepting_;
};

}  // namespace mangrove::cluster
