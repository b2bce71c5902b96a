#include "tests/data/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace mangrove::data::testing {
namespace {

bool readable(int descriptor, int timeout_ms) {
  pollfd poller{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&poller, 1, timeout_ms) == 1;
}

void send_all(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the client hung up
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

/// The path of "GET /path HTTP/1.1", once the whole head is there.
std::string read_request(int connection) {
  std::string head;
  std::array<char, 4096> buffer;
  while (head.find("\r\n\r\n") == std::string::npos && readable(connection, 5000)) {
    const ssize_t got = ::recv(connection, buffer.data(), buffer.size(), 0);
    if (got <= 0) break;
    head.append(buffer.data(), static_cast<std::size_t>(got));
  }
  const std::size_t begin = head.find('/');
  return begin == std::string::npos ? "" : head.substr(begin + 1, head.find(' ', begin) - begin - 1);
}

}  // namespace

SilentServer::SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  MG_CHECK(::bind(socket_, generic, size) == 0 && ::listen(socket_, 8) == 0);
  MG_CHECK(::getsockname(socket_, generic, &size) == 0);
  url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

SilentServer::~SilentServer() {
  ::close(socket_);
}

HttpServer::HttpServer(fs::path folder)
    : folder_(std::move(folder)), thread_([this](const std::stop_token& stop) { serve(stop); }) {}

void HttpServer::serve(const std::stop_token& stop) const {
  while (!stop.stop_requested()) {
    if (!readable(port_.socket(), 20)) continue;
    const int connection = ::accept4(port_.socket(), nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    answer(connection);
    ::close(connection);
  }
}

void HttpServer::answer(int connection) const {
  const std::string path = read_request(connection);
  const auto content = read_file(folder_ / path);
  if (!content.ok()) return send_all(connection, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  send_all(connection,
           "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(content->size()) + "\r\n\r\n");
  const bool cut = path.find("cut") != std::string::npos;
  send_all(connection, std::string_view(*content).substr(0, cut ? content->size() / 2 : content->size()));
}

}  // namespace mangrove::data::testing
