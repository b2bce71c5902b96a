#pragma once

#include <nlohmann/json.hpp>

#include "mangrove/job/json_fields.h"

namespace mangrove::cli {

/// JSON of a described struct with these values, and for all other keys that it must have those of an empty one.
template <class T>
nlohmann::json whole(const nlohmann::json& part) {
  nlohmann::json json = job::json_of(T());
  json.update(part);
  return json;
}

/// A line of metrics.jsonl.
template <class T>
nlohmann::json whole_line(const char* kind, const nlohmann::json& part) {
  nlohmann::json json = whole<T>(part);
  json["kind"] = kind;
  return json;
}
template <class T>
nlohmann::json whole_line(const nlohmann::json& part) {
  return whole_line<T>(T::kLine, part);
}

}  // namespace mangrove::cli
