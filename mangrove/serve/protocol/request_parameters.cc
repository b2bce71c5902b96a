#include "mangrove/serve/protocol/request_parameters.h"

#include <algorithm>
#include <array>

namespace mangrove::serve {
namespace {

constexpr std::array kSequenceParameters = {"sequence_id", "sequence_start", "sequence_end"};
constexpr std::array kTensorParameters = {"shared_memory_region", "classification"};

Result<std::int64_t> whole_parameter(const FindParameter& find, const std::string& name, std::int64_t high) {
  const std::optional<ParameterValue> value = find(name);
  if (!value) return std::int64_t{0};
  const auto* const whole = std::get_if<std::int64_t>(&*value);
  if (whole == nullptr || *whole < 0 || *whole > high)
    return make_error(Code::invalid_argument,
                      "parameter '" + name + "' is not a whole number from 0 to " + std::to_string(high));
  return *whole;
}

template <class Names>
Status check_absent(const FindParameter& find, const Names& names) {
  for (const char* name : names)
    if (find(name)) return make_error(Code::unimplemented, "parameter '" + std::string(name) + "' is not served");
  return {};
}

}  // namespace

Status take_parameters(const FindParameter& find, Instant now, InferenceRequest& request) {
  MG_RETURN_IF_ERROR(check_absent(find, kSequenceParameters));
  MG_TRY(const std::int64_t level, whole_parameter(find, "priority", kPriorityLevels));
  MG_TRY(const std::int64_t timeout, whole_parameter(find, "timeout", kLongestTimeoutMicroseconds));
  const std::int64_t middle = kPriorityLevels / 2;
  request.priority = static_cast<int>(level == 0 ? 0 : middle - level);
  if (timeout > 0) request.deadline = std::min(request.deadline, now + static_cast<double>(timeout) * 1e-6);
  return {};
}

Status check_tensor_parameters(const FindParameter& find) {
  return check_absent(find, kTensorParameters);
}

}  // namespace mangrove::serve
