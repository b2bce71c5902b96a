#pragma once

#include <string_view>

#include "mangrove/base/result.h"

namespace mangrove::data {

/// The content of the regular file called `name` in a tar archive (POSIX ustar), in whatever folder it is; it points
/// into `archive`. errors: not_found (no such file), data_loss (not a tar archive, corrupt, truncated).
Result<std::string_view> find_in_tar(std::string_view archive, std::string_view name);

}  // namespace mangrove::data
