#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "mangrove/base/clock.h"
#include "mangrove/base/result.h"
#include "mangrove/serve/model.h"

namespace mangrove::serve {

/// The value of one parameter, as JSON and the messages of gRPC can have it.
using ParameterValue = std::variant<bool, std::int64_t, double, std::string>;

/// Levels of priority, as Triton counts them: 1 is answered first, 0 stands for the one in the middle.
constexpr std::int64_t kPriorityLevels = 100;
/// The longest `timeout` of a request.
constexpr std::int64_t kLongestTimeoutMicroseconds = 24LL * 3600 * 1'000'000;

/// Looks a parameter up by its name. Nothing: the request has none of that name.
using FindParameter = std::function<std::optional<ParameterValue>(const std::string& name)>;

/// Takes `priority` (0 to 100) and `timeout` (microseconds; 0: none) of a request into it. now: when it came.
/// errors: invalid_argument (another type or range), unimplemented (a parameter that changes what a request means and
/// is not served: sequences).
Status take_parameters(const FindParameter& find, Instant now, InferenceRequest& request);

/// The same of an input or an output. errors: unimplemented (shared memory, classification).
Status check_tensor_parameters(const FindParameter& find);

}  // namespace mangrove::serve
