#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "mangrove/base/result.h"

namespace mangrove::serve {

/// What stands in the place of the {names} of a path's pattern.
using PathValues = std::map<std::string, std::string>;

/// Compares the path of a request's target, without what is behind "?", with a pattern such as
/// "/v2/models/{model}/infer". A "/" at the end changes nothing. Nothing: it is another path.
std::optional<PathValues> match_path(std::string_view pattern, std::string_view target);

/// The value of a parameter behind "?". Nothing: it is not there. errors: invalid_argument (a "%" that is no
/// character).
Result<std::optional<std::string>> query_value(std::string_view target, std::string_view name);

}  // namespace mangrove::serve
