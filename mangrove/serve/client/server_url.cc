#include "mangrove/serve/client/server_url.h"

#include "mangrove/base/printable.h"
#include "mangrove/cluster/address.h"

namespace mangrove::serve {
namespace {

constexpr std::string_view kPlain = "http://", kSecure = "https://";
constexpr int kPlainPort = 80, kSecurePort = 443;
constexpr std::size_t kLongestQuotedUrl = 256;

bool has_port(std::string_view place) {
  const std::size_t colon = place.rfind(':');
  return colon != std::string_view::npos && place.find(']', colon) == std::string_view::npos;
}

}  // namespace

std::string ServerUrl::to_string() const {
  return std::string(has_tls ? kSecure : kPlain) + cluster::HostPort{host, port}.to_string();
}

Result<ServerUrl> parse_server_url(std::string_view text) {
  ServerUrl url{.has_tls = text.starts_with(kSecure), .host = {}, .port = 0};
  const Error wrong = make_error(Code::invalid_argument,
                                 "'" + printable(cut_short(std::string(text), kLongestQuotedUrl)) +
                                     "' is no address of a server: expected http://HOST:PORT or https://HOST:PORT");
  if (!url.has_tls && !text.starts_with(kPlain)) return wrong;
  std::string_view place = text.substr((url.has_tls ? kSecure : kPlain).size());
  if (place.ends_with('/')) place.remove_suffix(1);
  if (place.empty() || place.find_first_of("/?#@ ") != std::string_view::npos) return wrong;
  std::string whole(place);
  if (!has_port(place)) whole += ":" + std::to_string(url.has_tls ? kSecurePort : kPlainPort);
  const Result<cluster::HostPort> found = cluster::parse_host_port(whole);
  if (!found.ok() || found->port == 0) return wrong;
  url.host = found->host;
  url.port = found->port;
  return url;
}

}  // namespace mangrove::serve
