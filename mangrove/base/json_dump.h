#pragma once

#include <string>

namespace mangrove {

/// JSON as text. Bytes that are not UTF-8 are replaced: names of files and messages of peers may hold any.
/// Json    nlohmann::json or ordered_json; who calls it has included that.
/// indent  spaces for each level; below 0: all on one line.
template <class Json>
requires requires {
  typename Json::error_handler_t;
}
std::string dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mangrove
