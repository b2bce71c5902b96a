#pragma once

#include <string>

namespace mangrove::cli {

/// The text as HTML, also inside of a quoted attribute.
std::string escaped(const std::string& text);

}  // namespace mangrove::cli
