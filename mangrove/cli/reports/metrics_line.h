#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "mangrove/job/json_fields.h"

namespace mangrove::cli {

/// The key of a line of metrics.jsonl that says how to read it.
inline constexpr const char* kKindKey = "kind";

/// A line of metrics.jsonl.
inline nlohmann::json metrics_line(const char* kind, const nlohmann::json& body) {
  nlohmann::json line = {{kKindKey, kind}};
  line.update(body);
  return line;
}

inline bool is_line_of(const nlohmann::json& line, std::string_view kind) {
  return line.is_object() && line.contains(kKindKey) && line[kKindKey] == kind;
}

/// What a line of that kind holds. nullopt: it is of another kind, or cannot be read.
template <class T>
std::optional<T> read_line(const nlohmann::json& line, const char* kind) {
  if (!is_line_of(line, kind)) return std::nullopt;
  auto read = job::read_json<T>(line);
  return read.ok() ? std::optional(*std::move(read)) : std::nullopt;
}
/// Reads a line whose kind only one strategy writes: T::kLine names it. Returns nullopt as the other one does.
template <class T>
std::optional<T> read_line(const nlohmann::json& line) {
  return read_line<T>(line, T::kLine);
}

}  // namespace mangrove::cli
