#pragma once

#include <string>

namespace mangrove {

/// Prints file, line, condition and message to standard error and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace mangrove

/// False only by our own bug: aborts with file and line. What a user, file, peer or device can cause is an Error
/// instead.
#define MG_CHECK(condition) MG_CHECK_MSG(condition, std::string())
#define MG_CHECK_MSG(condition, message)                                   \
  do {                                                                     \
    if (!(condition)) [[unlikely]]                                         \
      ::mangrove::check_failed(__FILE__, __LINE__, #condition, (message)); \
  } while (false)
