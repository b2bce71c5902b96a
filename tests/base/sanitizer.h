#pragma once

#include "mangrove/base/sanitizer.h"

namespace mangrove {

/// Tests that run a job once for each of its messages go on by so many: a sanitizer finds what it can find in some of
/// those runs, and what they compute is tested without it.
constexpr int kMessageStride = kSanitized ? 7 : 1;

}  // namespace mangrove

/// At the start of a test, or of SetUp.
#define MG_SKIP_IF_SANITIZED(why)                    \
  do {                                               \
    if (mangrove::kSanitized) GTEST_SKIP() << (why); \
  } while (false)
