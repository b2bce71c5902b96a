#include "tests/net/relay.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <vector>

namespace mangrove::net {
namespace {

constexpr int kPollMs = 10;  // how soon a new order is seen

bool readable(const Socket& socket) {
  pollfd entry{socket.fd(), POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

}  // namespace

Relay::Relay(int target_port)
    : target_port_(target_port),
      listener_(listen_locally()),
      port_(port_of(listener_)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Relay::~Relay() {
  thread_.request_stop();
  thread_.join();
}

void Relay::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<pollfd> entries;
    if (!frozen_) {
      entries.push_back({listener_.fd(), POLLIN, 0});
      for (const Line& line : lines_) {
        entries.push_back({line.client.fd(), POLLIN, 0});
        entries.push_back({line.target.fd(), POLLIN, 0});
      }
    }
    poll(entries.data(), entries.size(), kPollMs);
    if (frozen_) continue;
    if (readable(listener_)) accept_line();
    for (auto line = lines_.begin(); line != lines_.end();) line = move(*line) ? std::next(line) : lines_.erase(line);
  }
}

void Relay::accept_line() {
  Socket client(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  ++taken_;
  Socket target = connect_locally(target_port_);
  if (client.open() && target.open()) lines_.push_back({std::move(client), std::move(target)});
}

bool Relay::move(Line& line) {
  if (readable(line.client) && !move(line.client, line.target, true)) return false;
  return !readable(line.target) || move(line.target, line.client, false);
}

bool Relay::move(const Socket& from, const Socket& to, bool towards_target) {
  std::array<char, 64 << 10> buffer;
  std::size_t room = buffer.size();
  if (towards_target && bytes_to_cut_ >= 0) room = std::min(room, static_cast<std::size_t>(bytes_to_cut_) + 1);
  const ssize_t got = recv(from.fd(), buffer.data(), room, 0);
  if (got <= 0) return false;
  if (towards_target && bytes_to_cut_ >= 0 && (bytes_to_cut_ -= got) < 0) {
    ++cuts_;
    return false;
  }
  write_all(to, {buffer.data(), static_cast<std::size_t>(got)});
  return true;
}

}  // namespace mangrove::net
