#pragma once

#include <optional>
#include <string>

#include "mangrove/base/result.h"

namespace mangrove::infer {

/// Reads the job's key `trust`: "spot_checks=0.02" is the share of the work that may be done twice, from 0.0001 to 1.
/// "none" (also ""): nothing. errors: invalid_argument (another text, or a number out of this range).
Result<std::optional<double>> parse_trust(const std::string& text);

}  // namespace mangrove::infer
