#pragma once

#include <span>
#include <string_view>

#include "mangrove/base/result.h"
#include "mangrove/sensors/link.h"

namespace mangrove::sensors {

std::span<const LinkKind> link_kinds();
/// errors: not_found.
Result<const LinkKind*> find_link_kind(std::string_view name);

}  // namespace mangrove::sensors
