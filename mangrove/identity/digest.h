#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mangrove::identity {

/// SHA-256, as 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

/// Random bytes of the system, as twice as many hexadecimal digits.
std::string random_hex(std::size_t bytes);

/// Whether two texts are the same. The time that it takes does not depend on where they differ.
bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace mangrove::identity
