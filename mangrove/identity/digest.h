#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mangrove::identity {

/// SHA-256, as 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

/// So many random bytes of the system, as twice as many hexadecimal digits.
std::string random_hex(std::size_t bytes);

/// Whether two texts are the same, in a time that tells nothing of where they differ.
bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace mangrove::identity
