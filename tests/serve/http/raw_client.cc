#include "tests/serve/http/raw_client.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>

namespace mangrove::serve {
namespace {

constexpr int kPatienceSeconds = 60;

void limit_waiting(const net::Socket& socket) {
  const timeval patience{kPatienceSeconds, 0};
  setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

std::string small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Status and headers of a text that ends with the empty line.
RawReply parsed_head(std::string_view text) {
  RawReply reply;
  if (!text.starts_with("HTTP/1.1 ")) return reply;
  std::from_chars(text.data() + 9, text.data() + text.size(), reply.status);
  for (std::size_t at = text.find("\r\n") + 2; at < text.size();) {
    const std::size_t end = text.find("\r\n", at);
    const std::string_view line = text.substr(at, end - at);
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos)
      reply.headers[small_letters(std::string(line.substr(0, colon)))] = line.substr(colon + 2);
    at = end + 2;
  }
  return reply;
}

}  // namespace

RawClient::RawClient(int port) : socket_(net::connect_locally(port)), is_open_(socket_.open()) {
  limit_waiting(socket_);
}

RawClient::RawClient(int port, const identity::Identity& trusted, const identity::Identity* own) : RawClient(port) {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  for (const identity::Certificate& authority : trusted.authorities())
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), authority.handle());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (own != nullptr) {
    SSL_CTX_use_certificate(context.get(), own->certificate().handle());
    SSL_CTX_use_PrivateKey(context.get(), own->key().handle());
  }
  ssl_.reset(SSL_new(context.get()));
  SSL_set1_host(ssl_.get(), identity::kServerName);
  SSL_set_fd(ssl_.get(), socket_.fd());
  is_open_ = is_open_ && SSL_connect(ssl_.get()) == 1;
}

void RawClient::send(std::string_view bytes) {
  if (ssl_ == nullptr) return net::write_all(socket_, bytes);
  std::size_t written = 0;
  if (is_open_) SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
}

bool RawClient::receive() {
  std::array<char, 65536> buffer;
  const ssize_t got = ssl_ != nullptr ? SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()))
                                      : ::recv(socket_.fd(), buffer.data(), buffer.size(), 0);
  if (got > 0) received_.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

RawReply RawClient::reply(bool has_body) {
  std::size_t end = std::string::npos;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos)
    if (!receive()) return {};
  RawReply reply = parsed_head(std::string_view(received_).substr(0, end + 2));
  received_.erase(0, end + 4);
  std::size_t length = 0;
  if (const auto found = reply.headers.find("content-length"); has_body && found != reply.headers.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), length);
  while (received_.size() < length)
    if (!receive()) return reply;
  reply.body = received_.substr(0, length);
  received_.erase(0, length);
  return reply;
}

std::string RawClient::piece() {
  std::size_t end = std::string::npos;
  while ((end = received_.find("\r\n")) == std::string::npos)
    if (!receive()) return "";
  std::size_t length = 0;
  std::from_chars(received_.data(), received_.data() + end, length, 16);
  while (received_.size() < end + 2 + length + 2)
    if (!receive()) return "";
  std::string piece = received_.substr(end + 2, length);
  received_.erase(0, end + 2 + length + 2);
  return piece;
}

bool RawClient::is_closed() {
  errno = 0;
  const bool has_more = !received_.empty() || receive();
  return !has_more && errno != EAGAIN;
}

std::string post(const std::string& path, const std::string& body, const std::string& more_headers) {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost:8000\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + more_headers + "\r\n" + body;
}

std::string get(const std::string& path, const std::string& more_headers) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost:8000\r\n" + more_headers + "\r\n";
}

}  // namespace mangrove::serve
