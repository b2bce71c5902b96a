#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mangrove::cluster {

/// What a coordinator says of itself on the local network (DNS-SD, RFC 6763): a service of the type `_mangrove._tcp` at
/// its port, with a TXT record that names the authorities of its cluster. Anybody may say the same, so it proves
/// nothing.
///
///     ca=<first 16 hexadecimal digits of an authority's hash>[,<those of another>]

constexpr const char* kAnnouncedType = "_mangrove._tcp";

/// The entry of the TXT record for these authorities, at most 8 of them. See identity::Certificate::hash().
std::string announced_authorities(const std::vector<std::string>& authority_hashes);

/// Whether an entry of a TXT record names one of these authorities.
bool names_authority(std::string_view txt_entry, const std::vector<std::string>& authority_hashes);

/// HOST:PORT of a coordinator that was announced at this numeric address. Nothing: no other machine can be meant by it,
/// as with loopback, multicast or unspecified addresses, or it needs an interface besides (IPv6 addresses of a link).
std::optional<std::string> announced_address(const std::string& host, int port);

}  // namespace mangrove::cluster
