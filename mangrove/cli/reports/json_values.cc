#include "mangrove/cli/reports/json_values.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "mangrove/cli/reports/html.h"

namespace mangrove::cli {
namespace {

using nlohmann::json;

constexpr double kLargest = 1e100;  // sums and squares of it are finite
constexpr std::int64_t kMost = 1'000'000'000'000'000;
constexpr std::size_t kLongestText = 200;

const json* find(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

std::optional<double> number_at(const json& object, const char* key) {
  const json* value = find(object, key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const auto number = value->get<double>();
  return std::abs(number) <= kLargest ? std::optional(number) : std::nullopt;
}

double number_or_0(const json& object, const char* key) {
  return number_at(object, key).value_or(0);
}

std::int64_t whole_at(const json& object, const char* key) {
  const json* value = find(object, key);
  if (value == nullptr || !value->is_number_integer()) return 0;
  const auto number = value->get<std::int64_t>();
  return number >= -kMost && number <= kMost ? number : 0;
}

bool is_true_at(const json& object, const char* key) {
  const json* value = find(object, key);
  return value != nullptr && *value == json(true);
}

std::string text_at(const json& object, const char* key) {
  const json* value = find(object, key);
  if (value == nullptr || !value->is_string()) return "";
  return shortened(value->get_ref<const std::string&>(), kLongestText);
}

const json& object_at(const json& object, const char* key) {
  static const json kNone = json::object();
  const json* value = find(object, key);
  return value != nullptr && value->is_object() ? *value : kNone;
}

const json& array_at(const json& object, const char* key) {
  static const json kNone = json::array();
  const json* value = find(object, key);
  return value != nullptr && value->is_array() ? *value : kNone;
}

}  // namespace mangrove::cli
