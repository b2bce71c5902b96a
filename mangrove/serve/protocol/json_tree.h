#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "mangrove/base/result.h"
#include "mangrove/serve/protocol/json_elements.h"

namespace mangrove::serve {

/// How much a JSON text may hold besides the elements of tensors. Such texts come from anybody.
struct JsonLimits {
  std::size_t depth = 32;          // lists and objects in one another
  std::size_t values = 20'000;     // keys not counted
  const char* tensors = "inputs";  // the list of the root whose members have elements as `data`
};

/// A JSON text, with the elements of tensors aside: those of `data` in a member of the list of tensors are not in
/// `root`. Their number in `elements` stands there instead. They take 8 bytes each in place of a JSON value.
struct JsonTree {
  nlohmann::json root;
  std::vector<JsonElements> elements;
};

/// errors: invalid_argument (no JSON, a key twice in one object, deeper or more than the limits; says where).
Result<JsonTree> parse_json_tree(std::string_view text, const JsonLimits& limits = {});

}  // namespace mangrove::serve
