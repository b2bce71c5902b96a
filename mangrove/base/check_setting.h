#pragma once

#include <string>

#include "mangrove/base/result.h"

namespace mangrove {

/// errors: invalid_argument: the value is not `allowed`; the message says what was `expected`, e.g. "0 or more".
template <class T>
Status check_setting(const char* key, T value, bool allowed, const char* expected) {
  if (allowed) return {};
  return make_error(Code::invalid_argument,
                    std::string(key) + ": must be " + expected + ", got " + std::to_string(value));
}

}  // namespace mangrove
