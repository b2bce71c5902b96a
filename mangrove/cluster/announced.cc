#include "mangrove/cluster/announced.h"

#include <arpa/inet.h>

#include <algorithm>

#include "mangrove/cluster/address.h"

namespace mangrove::cluster {
namespace {

constexpr std::string_view kKey = "ca=";
constexpr std::size_t kDigits = 16;
constexpr std::size_t kMostAuthorities = 8;

bool is_of_a_machine(const in_addr& address) {
  const auto first = static_cast<int>(ntohl(address.s_addr) >> 24);
  return first != 0 && first != 127 && first < 224;
}

bool is_of_a_machine(const in6_addr& address) {
  return !IN6_IS_ADDR_UNSPECIFIED(&address) && !IN6_IS_ADDR_LOOPBACK(&address) && !IN6_IS_ADDR_MULTICAST(&address) &&
         !IN6_IS_ADDR_LINKLOCAL(&address) && !IN6_IS_ADDR_V4MAPPED(&address) && !IN6_IS_ADDR_V4COMPAT(&address);
}

}  // namespace

std::string announced_authorities(const std::vector<std::string>& authority_hashes) {
  std::string entry(kKey);
  for (std::size_t i = 0; i < std::min(authority_hashes.size(), kMostAuthorities); ++i)
    entry += (i == 0 ? "" : ",") + authority_hashes[i].substr(0, kDigits);
  return entry;
}

bool names_authority(std::string_view txt_entry, const std::vector<std::string>& authority_hashes) {
  if (!txt_entry.starts_with(kKey)) return false;
  std::string_view rest = txt_entry.substr(kKey.size());
  for (std::size_t i = 0; i < kMostAuthorities; ++i) {
    const std::string_view digits = rest.substr(0, rest.find(','));
    const auto is_meant = [digits](const std::string& hash) { return hash.starts_with(digits); };
    if (digits.size() == kDigits && std::ranges::any_of(authority_hashes, is_meant)) return true;
    if (digits.size() == rest.size()) return false;
    rest.remove_prefix(digits.size() + 1);
  }
  return false;
}

std::optional<std::string> announced_address(const std::string& host, int port) {
  if (port < 1 || port > 65535) return std::nullopt;
  in_addr v4{};
  in6_addr v6{};
  const bool is_good = (inet_pton(AF_INET, host.c_str(), &v4) == 1 && is_of_a_machine(v4)) ||
                       (inet_pton(AF_INET6, host.c_str(), &v6) == 1 && is_of_a_machine(v6));
  if (!is_good) return std::nullopt;
  return HostPort{host, port}.to_string();
}

}  // namespace mangrove::cluster
