#include "mangrove/sensors/url.h"

#include <algorithm>

#include "mangrove/base/parse_number.h"
#include "mangrove/cluster/address.h"

namespace mangrove::sensors {
namespace {

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

Error wrong_url(std::string_view text, const std::vector<Scheme>& schemes) {
  std::string forms;
  for (const Scheme& scheme : schemes)
    forms += (forms.empty() ? "" : " or ") + std::string(scheme.name) + "://HOST:PORT";
  return make_error(Code::invalid_argument, "'" + std::string(text) + "' is no address: expected " + forms);
}

}  // namespace

bool Url::is_loopback() const {
  return cluster::HostPort{.host = host, .port = port}.is_loopback();
}

bool is_same_peer(const Url& a, const Url& b) {
  const bool is_same_host = (a.is_loopback() && b.is_loopback()) || lower_case(a.host) == lower_case(b.host);
  return a.port == b.port && is_same_host;
}

Result<Url> parse_url(std::string_view text, const std::vector<Scheme>& schemes) {
  const std::size_t colon = text.find("://");
  const auto scheme = std::ranges::find(schemes, text.substr(0, std::min(colon, text.size())),
                                        [](const Scheme& one) { return std::string_view(one.name); });
  if (colon == std::string_view::npos || scheme == schemes.end()) return wrong_url(text, schemes);
  const std::string_view rest = text.substr(colon + 3);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view authority = rest.substr(0, slash);
  Url url{.scheme = scheme->name, .host = {}, .port = scheme->port, .path = {}};
  if (slash < rest.size()) url.path = rest.substr(slash + 1);
  const bool is_bracketed = authority.starts_with('[');
  const std::size_t host_end = is_bracketed ? authority.find(']') : std::min(authority.find(':'), authority.size());
  if (host_end == std::string_view::npos) return wrong_url(text, schemes);
  url.host = is_bracketed ? authority.substr(1, host_end - 1) : authority.substr(0, host_end);
  const std::string_view port = authority.substr(std::min(host_end + (is_bracketed ? 1 : 0), authority.size()));
  if (url.host.empty() || (!port.empty() && !port.starts_with(':')) || url.host.find('@') != std::string::npos)
    return wrong_url(text, schemes);
  if (!port.empty()) {
    const auto number = parse_whole_number(std::string(port.substr(1)), 0, 65535);
    if (!number.ok()) return wrong_url(text, schemes);
    url.port = static_cast<int>(*number);
  }
  return url;
}

}  // namespace mangrove::sensors
