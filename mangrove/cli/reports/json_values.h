#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace mangrove::cli {

// What a file that anybody may have written says under a key. The first argument may be of any type.

/// A number of at most 1e100, so that a few of them can be added and multiplied.
std::optional<double> number_at(const nlohmann::json& object, const char* key);
/// The same; 0 where there is none.
double number_or_0(const nlohmann::json& object, const char* key);
/// A whole number of at most 1e15, so that sums of them stay numbers; 0 where there is none.
std::int64_t whole_at(const nlohmann::json& object, const char* key);
bool is_true_at(const nlohmann::json& object, const char* key);
/// Cut to 200 bytes; "" where there is none.
std::string text_at(const nlohmann::json& object, const char* key);
/// An empty one where there is none. It lives as long as `object`.
const nlohmann::json& object_at(const nlohmann::json& object, const char* key);
const nlohmann::json& array_at(const nlohmann::json& object, const char* key);

}  // namespace mangrove::cli
