#include "mangrove/cluster/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

namespace mangrove::cluster {
namespace {

struct FreeAddrinfo {
  void operator()(addrinfo* info) const { freeaddrinfo(info); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddrinfo>;

class Socket {
 public:
  Socket(int family, int type) : fd_(socket(family, type | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

Result<Addresses> resolve(const HostPort& address, int type) {
  addrinfo hints{};
  hints.ai_socktype = type;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int rc = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (rc != 0) return make_error(Code::unavailable, "host '" + address.host + "': " + gai_strerror(rc));
  return Addresses(found);
}

std::string numeric_host(const sockaddr* address, socklen_t length) {
  char text[NI_MAXHOST] = "";
  if (getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text;
}

Result<int> parse_port(std::string_view text) {
  int port = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port < 0 || port > 65535)
    return make_error(Code::invalid_argument, "port '" + std::string(text) + "' is not a number from 0 to 65535");
  return port;
}

}  // namespace

std::string HostPort::to_string() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool HostPort::is_wildcard() const {
  return host == "0.0.0.0" || host == "::";
}

bool HostPort::is_loopback() const {
  in_addr address{};
  const bool is_v4 = inet_pton(AF_INET, host.c_str(), &address) == 1;
  return (is_v4 && host.starts_with("127.")) || host == "::1" || host == "localhost";
}

Result<HostPort> parse_host_port(std::string_view text) {
  const std::string where = "address '" + std::string(text) + "'";
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0)
    return make_error(Code::invalid_argument, where + ": expected HOST:PORT, e.g. 127.0.0.1:7070");
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find_first_of(":[]/ ") != std::string_view::npos)
    return make_error(Code::invalid_argument, where + ": '" + std::string(host) +
                                                  "' is not a host; an IPv6 address goes in brackets: [::1]:7070");
  MG_TRY(const int port, parse_port(text.substr(colon + 1)).context(where));
  return HostPort{std::string(host), port};
}

Result<std::string> local_host_towards(const HostPort& peer) {
  MG_TRY(const Addresses addresses, resolve(peer, SOCK_DGRAM));
  int error = 0;
  for (const addrinfo* to = addresses.get(); to != nullptr; to = to->ai_next) {
    const Socket udp(to->ai_family, SOCK_DGRAM);
    // connecting a datagram socket only looks up the route
    if (udp.fd() < 0 || connect(udp.fd(), to->ai_addr, to->ai_addrlen) != 0) {
      error = errno;
      continue;
    }
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    if (getsockname(udp.fd(), reinterpret_cast<sockaddr*>(&own), &length) != 0) continue;
    std::string host = numeric_host(reinterpret_cast<sockaddr*>(&own), length);
    if (!host.empty()) return host;
  }
  return make_error(Code::unavailable, "no route to '" + peer.host + "': " + std::strerror(error));
}

std::string public_host() {
  // the default route first, since the first interface may lead only to containers. Both addresses are reserved for
  // documentation
  for (const char* outside : {"192.0.2.1", "2001:db8::1"}) {
    const Result<std::string> host = local_host_towards({outside, 9});
    if (host.ok() && !HostPort{*host, 0}.is_loopback()) return *host;
  }
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "127.0.0.1";
  std::string host;
  for (const ifaddrs* entry = list; entry != nullptr && host.empty(); entry = entry->ifa_next) {
    const bool usable = entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == AF_INET &&
                        (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
    if (usable) host = numeric_host(entry->ifa_addr, sizeof(sockaddr_in));
  }
  freeifaddrs(list);
  return host.empty() ? "127.0.0.1" : host;
}

std::string reachable(const std::string& address) {
  Result<HostPort> parsed = parse_host_port(address);
  if (!parsed.ok() || !parsed->is_wildcard()) return address;
  parsed->host = public_host();
  return parsed->to_string();
}

std::optional<int> interface_of(const std::string& host) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return std::nullopt;
  std::optional<int> index;
  for (const ifaddrs* entry = list; entry != nullptr && !index; entry = entry->ifa_next) {
    const int family = entry->ifa_addr == nullptr ? AF_UNSPEC : entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (numeric_host(entry->ifa_addr, length) == host) index = static_cast<int>(if_nametoindex(entry->ifa_name));
  }
  freeifaddrs(list);
  return index;
}

Status check_can_listen(const HostPort& address) {
  const std::string where = "cannot listen on " + address.to_string() + ": ";
  const Result<Addresses> addresses = resolve(address, SOCK_STREAM);
  if (!addresses.ok()) return make_error(Code::invalid_argument, where + addresses.error().message);
  int error = 0;
  for (const addrinfo* to = addresses->get(); to != nullptr && error == 0; to = to->ai_next) {
    const Socket tcp(to->ai_family, SOCK_STREAM);
    const int yes = 1;  // connections of an earlier server may linger
    setsockopt(tcp.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const bool bound = bind(tcp.fd(), to->ai_addr, to->ai_addrlen) == 0 && listen(tcp.fd(), 1) == 0;
    if (!bound) error = errno;
  }
  switch (error) {
    case 0:
      return {};
    case EADDRINUSE:
      return make_error(Code::already_exists, where + "port " + std::to_string(address.port) +
                                                  " is in use; choose another, or 0 for a free one");
    case EADDRNOTAVAIL:
      return make_error(Code::invalid_argument, where + "'" + address.host + "' is not an address of this machine");
    case EACCES:
      return make_error(Code::permission_denied, where + "ports below 1024 need more rights");
    default:
      return make_error(Code::unavailable, where + std::strerror(error));
  }
}

}  // namespace mangrove::cluster
